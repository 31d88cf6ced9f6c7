"""Who found what: the sources behind the modules, and the page that lists them."""

# ruff: noqa: E501  a source a line

from __future__ import annotations

from collections.abc import Iterator

REFERENCES: dict[str, tuple[str, str]] = {
    "Atkeson 1986": ("Atkeson", "C. G. Atkeson, C. H. An, J. M. Hollerbach: Estimation of inertial parameters of manipulator loads and links. Int. J. Robotics Research 5(3), 1986."),
    "Balafoutis 1988": ("Balafoutis", "C. A. Balafoutis, R. V. Patel, P. Misra: Efficient modeling and computation of manipulator dynamics using orthogonal Cartesian tensors. IEEE J. Robotics and Automation 4(6), 1988."),
    "Baraff 1996": ("", "D. Baraff: Linear-time dynamics using Lagrange multipliers. SIGGRAPH 1996."),
    "Barber 1996": ("Barber", "C. B. Barber, D. P. Dobkin, H. Huhdanpaa: The quickhull algorithm for convex hulls. ACM Trans. Mathematical Software 22(4), 1996."),
    "Carpentier 2018": ("Carpentier", "J. Carpentier, N. Mansard: Analytical derivatives of rigid body dynamics algorithms. Robotics: Science and Systems 2018."),
    "Carpentier 2021": ("Carpentier", "J. Carpentier, R. Budhiraja, N. Mansard: Proximal and sparse resolution of constrained dynamic equations. Robotics: Science and Systems 2021."),
    "Chang 2000": ("Chang", "K.-S. Chang, O. Khatib: Operational space dynamics: efficient algorithms for modeling and control of branching mechanisms. ICRA 2000."),
    "Chignoli 2023": ("Chignoli", "M. Chignoli, N. Adrian, S. Kim, P. M. Wensing: Recursive rigid-body dynamics algorithms for systems with kinematic loops. 2023."),
    "Cody 1980": ("Cody", "W. J. Cody, W. Waite: Software Manual for the Elementary Functions. Prentice Hall, 1980."),
    "Echeandia 2021": ("Echeandia", "S. Echeandia, P. M. Wensing: Numerical methods to compute the Coriolis matrix and Christoffel symbols for rigid-body systems. J. Computational and Nonlinear Dynamics 16(9), 2021."),
    "Featherstone 2005": ("Featherstone", "R. Featherstone: Efficient factorization of the joint-space inertia matrix for branched kinematic trees. Int. J. Robotics Research 24(6), 2005."),
    "Featherstone 2008": ("RBDA", "R. Featherstone: Rigid Body Dynamics Algorithms (RBDA). Springer, 2008."),
    "Featherstone 2010": ("Featherstone", "R. Featherstone: Exploiting sparsity in operational-space dynamics. Int. J. Robotics Research 29(10), 2010."),
    "Featherstone, notes": ("Featherstone", "R. Featherstone: Efficient implementation of dynamics algorithms. Lecture slides."),
    "George 1981": ("", "A. George, J. W. H. Liu: Computer Solution of Large Sparse Positive Definite Systems. Prentice Hall, 1981."),
    "Jain 2012": ("Jain", "A. Jain: Multibody graph transformations and analysis, part II: closed-chain constraint embedding. Nonlinear Dynamics 67, 2012."),
    "Khatib 1987": ("Khatib", "O. Khatib: A unified approach for motion and force control of robot manipulators: the operational space formulation. IEEE J. Robotics and Automation 3(1), 1987."),
    "Levenberg 1944": ("Levenberg", "K. Levenberg: A method for the solution of certain non-linear problems in least squares. Quarterly of Applied Mathematics 2(2), 1944."),
    "Lilly 1993": ("", "K. W. Lilly: Efficient Dynamic Simulation of Robotic Mechanisms. Kluwer, 1993."),
    "Liu 1990": ("Liu", "J. W. H. Liu: The role of elimination trees in sparse factorization. SIAM J. Matrix Analysis and Applications 11(1), 1990."),
    "McMillan 1995": ("McMillan", "S. McMillan, D. E. Orin: Efficient computation of articulated-body inertias using successive axial screws. IEEE Trans. Robotics and Automation 11(4), 1995."),
    "Negrut 1997": ("Negrut", "D. Negrut, R. Serban, F. A. Potra: A topology based approach for exploiting sparsity in multibody dynamics: joint formulation. Mechanics of Structures and Machines 25(2), 1997."),
    "Orin 2013": ("Orin", "D. E. Orin, A. Goswami, S.-H. Lee: Centroidal dynamics of a humanoid robot. Autonomous Robots 35, 2013."),
    "Rodriguez 1992": ("Rodriguez", "G. Rodriguez, A. Jain, K. Kreutz-Delgado: Spatial operator algebra for multibody system dynamics. J. Astronautical Sciences 40(1), 1992."),
    "Russakow 1995": ("", "J. Russakow, O. Khatib, S. M. Rock: Extended operational space formulation for serial-to-parallel chain (branching) manipulators. ICRA 1995."),
    "Saha 1997": ("", "S. K. Saha: A decomposition of the manipulator inertia matrix. IEEE Trans. Robotics and Automation 13(2), 1997. The UDUᵀ form of LTDL."),
    "Sathya 2023": ("Sathya", "A. S. Sathya, H. Bruyninckx, W. Decré, G. Pipeleers: Efficient constrained dynamics algorithms based on an equivalent LQR formulation. IEEE Trans. Robotics, 2023."),
    "Sathya 2024": ("Sathya", "A. S. Sathya and others: PV-OSIMr: a lowest order complexity algorithm for computing the Delassus matrix. IEEE Robotics and Automation Letters, 2024."),
    "Singh 2022": ("Singh", "S. Singh, R. P. Russell, P. M. Wensing: Efficient analytical derivatives of rigid-body dynamics using spatial vector algebra. IEEE Robotics and Automation Letters 7(2), 2022."),
    "Sugihara 2011": ("Sugihara", "T. Sugihara: Solvability-unconcerned inverse kinematics by the Levenberg-Marquardt method. IEEE Trans. Robotics 27(5), 2011."),
    "Tassa 2014": ("Tassa", "Y. Tassa, N. Mansard, E. Todorov: Control-limited differential dynamic programming. ICRA 2014."),
    "Wehage 1982": ("Wehage", "R. A. Wehage, E. J. Haug: Generalized coordinate partitioning for dimension reduction in analysis of constrained dynamic systems. J. Mechanical Design 104(1), 1982."),
    "Wensing 2012": ("Wensing", "P. M. Wensing, R. Featherstone, D. E. Orin: A reduced-order recursive algorithm for the computation of the operational-space inertia matrix. ICRA 2012."),
    "Wensing 2018": ("Wensing", "P. M. Wensing, G. Niemeyer, J.-J. E. Slotine: Observability in inertial parameter identification. 2018."),
}  # fmt: skip
"""short name -> the word by which modules cite it ("" if none does), and the source"""

MODULES: dict[str, tuple[str, ...]] = {
    "algorithms/aba.py": ("Featherstone 2008", "McMillan 1995"),
    "algorithms/articulated.py": ("Featherstone 2008",),
    "algorithms/block_cholesky.py": ("Negrut 1997",),
    "algorithms/clusters.py": ("Jain 2012", "Chignoli 2023"),
    "algorithms/coriolis.py": ("Echeandia 2021",),
    "algorithms/crba.py": ("Featherstone 2008", "Negrut 1997"),
    "algorithms/idsva.py": ("Singh 2022",),
    "algorithms/jacobian.py": ("Featherstone 2008",),
    "algorithms/kinematics.py": ("Featherstone 2008", "Balafoutis 1988"),
    "algorithms/loops/joint_formulation.py": ("Negrut 1997",),
    "algorithms/loops/partition.py": ("Wehage 1982",),
    "algorithms/loops/proximal.py": ("Carpentier 2021",),
    "algorithms/ltdl.py": ("Featherstone 2005", "Liu 1990"),
    "algorithms/minv.py": ("Carpentier 2018", "Featherstone 2005"),
    "algorithms/momentum_energy.py": ("Orin 2013", "Featherstone 2008"),
    "algorithms/operational/__init__.py": ("Featherstone 2010", "Chang 2000"),
    "algorithms/operational/chang_khatib.py": ("Chang 2000",),
    "algorithms/operational/consistent_inverse.py": ("Wensing 2012",),
    "algorithms/operational/efpa.py": ("Wensing 2012",),
    "algorithms/operational/pv.py": ("Sathya 2023",),
    "algorithms/operational/pvr.py": ("Sathya 2024",),
    "algorithms/operational/rjk.py": ("Rodriguez 1992", "Featherstone 2010"),
    "algorithms/operational/sfa.py": ("Featherstone 2010",),
    "algorithms/regressor.py": ("Atkeson 1986",),
    "algorithms/rnea.py": ("Featherstone 2008", "Balafoutis 1988"),
    "backend/llvm/vector_math.py": ("Cody 1980",),
    "backend/planning/riccati_code.py": ("Tassa 2014",),
    "backend/sparse_factor/factor_loops.py": ("Featherstone 2005",),
    "catalog/paper_robots.py": ("Featherstone 2005",),
    "catalog/vehicle.py": ("Negrut 1997",),
    "control.py": ("Chang 2000",),
    "description/mesh_geometry.py": ("Barber 1996",),
    "explain/closed_loops.py": ("Negrut 1997",),
    "explain/crba_cost.py": ("Featherstone 2005",),
    "explain/factor_steps.py": ("Featherstone 2005",),
    "explain/recursion.py": ("Chang 2000",),
    "explain/stepped.py": ("Featherstone 2005", "Chang 2000", "Negrut 1997"),
    "explain/zeros.py": ("Featherstone 2005",),
    "kinematics/damped_step.py": ("Levenberg 1944", "Sugihara 2011"),
    "linalg/augmented.py": ("Negrut 1997",),
    "linalg/branches.py": ("Negrut 1997",),
    "linalg/factor.py": ("Featherstone 2005",),
    "mechanism/mobility.py": ("Wehage 1982",),
    "optimal_control/box.py": ("Tassa 2014",),
    "quantities/articulated.py": ("Chang 2000",),
    "quantities/operational_torques.py": ("Khatib 1987", "Chang 2000"),
    "robots.py": ("Featherstone 2005", "Wensing 2012", "Chang 2000", "Negrut 1997"),
    "spatial/inertia.py": ("Featherstone 2008",),
    "spatial/transform.py": ("McMillan 1995", "Featherstone 2005"),
    "tree/equivalent_design.py": ("Featherstone, notes",),
    "tree/inertial_parameters.py": ("Wensing 2018",),
    "tree/parameters.py": ("Featherstone, notes",),
}
"""module -> the sources that it cites"""
OURS = (
    "algorithms/operational/mixed.py",
    "algorithms/loops/loopwise.py",
    "algorithms/loops/constrained_aba.py",
)
"""algorithms without a paper of their own: what they build on is in their docstrings"""
RELATED = {
    "Baraff 1996": "an O(n) method that exploits another sparsity, that of a larger matrix",
    "George 1981": "envelopes, and Cholesky's method on permuted matrices",
    "Saha 1997": "LTDL before branches were looked at",
    "Russakow 1995": "several end effectors on branching robots",
    "Lilly 1993": "operational-space inertia by force propagation",
}
"""work that the founding documents build on, and no module implements as it is"""


def page() -> str:
    """Return docs/references.md."""
    return "\n".join(_lines()) + "\n"


def _lines() -> Iterator[str]:
    yield "# References"
    yield ""
    yield "Who found what. Modules cite the same sources in their docstrings."
    yield ""
    yield "| module | sources |"
    yield "|---|---|"
    for module, sources in MODULES.items():
        yield f"| `{module}` | {', '.join(sources)} |"
    yield ""
    yield "Combined here from known parts, and explained in the modules themselves: "
    yield ", ".join(f"`{module}`" for module in OURS) + "."
    yield ""
    yield "## Sources"
    yield ""
    for name, (_, text) in REFERENCES.items():
        used = f" ({RELATED[name]})" if name in RELATED else ""
        yield f"- **{name}**: {text}{used}"
