from ramify.model.pose import Array
import numpy as np
def a(R: Array, I: Array) -> Array:
    return R @ I @ np.transpose(R)
def b(R: Array, I: Array) -> Array:
    return np.einsum("ij,jk,lk->il", R, I, R)
def c(R: Array, I: Array) -> Array:
    return R @ I @ np.swapaxes(R, 0, 1)
def d(R: Array, I: Array) -> Array:
    return R @ I @ np.linalg.matrix_transpose(R)
def e(R: Array, I: Array) -> Array:
    return np.inner(R @ I, R)
def f(R: Array, I: Array) -> Array:
    return R @ np.matmul(R, I)
def g(R: Array, I: Array) -> Array:
    return R @ I @ R.swapaxes(0, 1)
