"""The inverse of the operational-space inertia, Λ⁻¹ = J M⁻¹ Jᵀ: seven algorithms.

sfa            sparse factorization (Featherstone 2010)            O(n d² + m d² + m² d)
rjk            Rodriguez, Jain & Kreutz-Delgado, optimized         O(n + m² d)
chang_khatib   Chang & Khatib 2000, blocks of 6 × 6 throughout     O(n + m² d)
efpa           extended force propagators (Wensing et al. 2012)    O(n + m d + m²)
pv             Popov-Vereshchagin (Sathya et al. 2023)             O(n + m² d)
pvr            the same over a reduced tree (2024)                 O(n + m²)
mixed          pv, reduced only where that pays

n bodies, m ends, depth d
"""
