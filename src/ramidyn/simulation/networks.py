"""Networks as policies: weights are inputs, so training does not compile again."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final, cast, final

import numpy as np

from ramidyn.errors import ArgumentError, ShapeError, did_you_mean
from ramidyn.mechanism.state_arrays import checked_numbers
from ramidyn.simulation.inputs import Arranged, shared
from ramidyn.symbolic import functions, networks
from ramidyn.symbolic.parameters import parameters_of

ACTIVATIONS: Final[dict[str, Callable[[Any], Any]]] = {
    "tanh": functions.tanh,
    "relu": networks.relu,
    "elu": networks.elu,
    "softplus": networks.softplus,
}


@final
@dataclass(frozen=True, slots=True, eq=False)
class Layer:
    """A layer: an activation, or one with arrays of its own."""

    kind: str
    """linear, norm, or an activation"""
    arrays: tuple[Any, ...] = ()
    option: float | None = None
    """alpha of elu, epsilon of norm"""

    def of(self, x: Any, arrays: Sequence[Any]) -> Any:
        """Return the layer's output."""
        if self.kind == "linear":
            y = networks.matmul(arrays[0], x)
            return y + arrays[1] if len(arrays) > 1 else y
        if self.kind == "norm":
            return networks.layer_norm(x, *arrays, epsilon=cast(float, self.option))
        if self.option is not None:
            return networks.elu(x, self.option)
        return ACTIVATIONS[self.kind](x)


@final
class Network:
    """A policy that is a network; see `network`."""

    def __init__(
        self,
        layers: tuple[Layer, ...],
        observe: Callable[..., Any],
        act: Callable[..., Any] | None,
        name: str,
    ) -> None:
        self.layers = layers
        self.observe = observe
        self.act = act
        self.name = name
        wanted = [_parameters("observe", observe)]
        if act is not None:
            wanted.append(_parameters("act", act)[1:])
        names = list(dict.fromkeys([n for some in wanted for n in some]))
        kinds = inspect.Parameter.KEYWORD_ONLY
        self.__signature__ = inspect.Signature(
            [inspect.Parameter(n, kinds) for n in (*names, *self.inputs)]
        )

    @property
    def inputs(self) -> dict[str, Arranged]:
        """The weights by name, as `Robot.rollout` takes them among its inputs."""
        return {
            f"{self.name}_{k}_{i}": shared(array)
            for k, layer in enumerate(self.layers)
            for i, array in enumerate(layer.arrays)
        }

    def inputs_of(self, model: Any) -> dict[str, Arranged]:
        """Return the weights of another network of the same layers, as inputs.

        Nothing is compiled again.
        """
        other = Network(
            layers_of(model, _activation(self.layers)),
            self.observe,
            self.act,
            self.name,
        )
        mine, theirs = (
            [(x.kind, x.option, [a.shape for a in x.arrays]) for x in n.layers]
            for n in (self, other)
        )
        if mine != theirs:
            raise ArgumentError(
                f"the other network has layers {theirs}; expected {mine}"
            )
        return other.inputs

    def __call__(self, **known: Any) -> Any:
        """Return what the policy sets, of what it asks for and its weights."""
        x = self.observe(**{n: known[n] for n in _parameters("observe", self.observe)})
        x = np.asarray(x)
        first = next(layer for layer in self.layers if layer.kind == "linear")
        if x.shape != (first.arrays[0].shape[1],):
            raise ShapeError(
                f"observe returns shape {x.shape}; the first layer takes "
                f"({first.arrays[0].shape[1]},)"
            )
        for k, layer in enumerate(self.layers):
            arrays = [known[f"{self.name}_{k}_{i}"] for i in range(len(layer.arrays))]
            x = layer.of(x, arrays)
        if self.act is None:
            return x
        rest = _parameters("act", self.act)[1:]
        return self.act(x, **{n: known[n] for n in rest})

    def __repr__(self) -> str:
        first = [x.arrays[0].shape for x in self.layers if x.kind == "linear"]
        sizes = [first[0][1], *(m for m, _ in first)]
        return f"Network {self.name}: {' x '.join(map(str, sizes))}"


def network(
    model: Any,
    observe: Callable[..., Any],
    act: Callable[..., Any] | None = None,
    *,
    activation: str = "tanh",
    name: str = "network",
) -> Network:
    """Return a policy that is a neural network, with its weights as inputs.

    Args:
        model: a ``torch.nn.Sequential`` of Linear, LayerNorm, Tanh, ReLU, ELU, Softplus
            and Identity, or a list of (W, b) with W (outputs, inputs) and b (outputs,).
        observe: what the network sees, a vector, as a function of what a policy may
            name, such as ``lambda q, qd: np.concatenate([q, qd])``.
        act: what the policy returns, as a function of the network's output first, such
            as ``lambda y, q: {"control": y}``; by default the output is tau.
        activation: between the layers of a list: "tanh", "relu", "elu", "softplus".
        name: begins the names of the weights among the inputs.

    Returns:
        A function for ``Robot.rollout(..., policy=policy, inputs=policy.inputs)``;
        ``policy.inputs_of(other)`` has other weights, without compiling again.

    >>> import numpy as np, ramidyn
    >>> robot = ramidyn.robots.humanoid30()
    >>> n, m = robot.nq + robot.nv, robot.nv
    >>> layers = [(np.zeros((8, n)), np.zeros(8)), (np.ones((m, 8)), np.zeros(m))]
    >>> policy = ramidyn.policies.network(layers, lambda q, qd: np.concatenate([q, qd]))
    >>> policy
    Network network: 61 x 8 x 30
    >>> q = robot.neutral()
    >>> run = robot.rollout(q, dt=1e-6, steps=2, policy=policy, inputs=policy.inputs)
    """
    if not isinstance(name, str) or not name.isidentifier():  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ArgumentError(f"name is {name!r}; expected a Python name")
    for what, function in (("observe", observe), ("act", act)):
        if function is not None and not callable(function):  # pyright: ignore[reportUnnecessaryComparison]
            raise ArgumentError(f"{what} is {function!r}; expected a function")
    return Network(layers_of(model, activation), observe, act, name)


def layers_of(model: Any, activation: str) -> tuple[Layer, ...]:
    """Return the layers of a network, which must fit."""
    if activation not in ACTIVATIONS:
        raise ArgumentError(
            f"activation is {activation!r}{did_you_mean(activation, ACTIVATIONS)}; "
            f"possible: {', '.join(ACTIVATIONS)}"
        )
    given = list(cast("Iterable[Any]", model)) if isinstance(model, Iterable) else None
    if not given:
        raise ArgumentError(
            f"model is {model!r}; expected a torch.nn.Sequential or a list of (W, b)"
        )
    layers: list[Layer] = []
    for k, one in enumerate(given):
        if isinstance(one, tuple | list):
            if k:
                layers.append(Layer(activation))
            layers.append(_pair(k, cast("Sequence[Any]", one)))
        else:
            layers += _module(k, one)
    _check_sizes(layers)
    return tuple(layers)


def _pair(k: int, pair: Sequence[Any]) -> Layer:
    if len(pair) not in (1, 2):
        raise ArgumentError(f"layer {k} has {len(pair)} arrays; expected (W, b)")
    return _linear(k, [checked_numbers(f"layer {k}", x) for x in pair])


def _linear(k: int, arrays: list[Any]) -> Layer:
    W = arrays[0]  # noqa: N806  as in papers
    if W.ndim != 2 or any(b.shape != W.shape[:1] for b in arrays[1:]):
        shapes = " and ".join(str(x.shape) for x in arrays)
        raise ShapeError(
            f"layer {k} has arrays of shapes {shapes}; expected W (outputs, inputs) "
            "and b (outputs,)"
        )
    return Layer("linear", tuple(arrays))


def _module(k: int, module: Any) -> list[Layer]:
    """Return the layers of a module of PyTorch."""
    kind = type(module).__name__

    def arrays(*names: str) -> list[Any]:
        found = [getattr(module, n, None) for n in names]
        return [
            checked_numbers(f"layer {k}", x.detach().cpu().numpy())
            for x in found
            if x is not None
        ]

    if kind == "Linear":
        return [_linear(k, arrays("weight", "bias"))]
    if kind == "LayerNorm" and len(module.normalized_shape) == 1:
        return [Layer("norm", tuple(arrays("weight", "bias")), float(module.eps))]
    if kind == "ELU":
        return [Layer("elu", (), float(module.alpha))]
    if kind == "Identity":
        return []
    is_plain = kind != "Softplus" or (module.beta == 1 and module.threshold >= 20)
    if kind.lower() in ACTIVATIONS and is_plain:
        return [Layer(kind.lower())]
    raise ArgumentError(
        f"layer {k} is {module!r}; possible: (W, b), and of torch.nn Linear, LayerNorm "
        "of vectors, Tanh, ReLU, ELU, Softplus with beta=1, and Identity"
    )


def _check_sizes(layers: Sequence[Layer]) -> None:
    """Raise an error unless each layer takes what the one before it returns."""
    size: int | None = None
    for k, layer in enumerate(layers):
        if layer.kind == "norm":
            wrong = [a for a in layer.arrays if size is not None and a.shape != (size,)]
            if wrong:
                raise ShapeError(
                    f"layer {k} normalizes {wrong[0].shape[0]} numbers; the layer "
                    f"before it returns {size}"
                )
        if layer.kind != "linear":
            continue
        outputs, inputs = layer.arrays[0].shape
        if size not in (None, inputs):
            raise ShapeError(
                f"layer {k} takes {inputs} numbers; the layer before it returns {size}"
            )
        size = outputs
    if size is None:
        raise ArgumentError("the network has no linear layer; expected one or more")


def _activation(layers: Sequence[Layer]) -> str:
    """Return the activation of a network that was a list, or any other."""
    return next((x.kind for x in layers if x.kind in ACTIVATIONS), "tanh")


def _parameters(what: str, function: Callable[..., Any]) -> list[str]:
    found = parameters_of(function)
    if found is None:
        raise ArgumentError(
            f"{what} is {function!r}; expected a function with named parameters"
        )
    return [n for n, p in found.items() if p.default is p.empty]
