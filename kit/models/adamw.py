"""AdamW, the steps of torch's own to the last bit, without the seconds that torch takes to load its compiler for it.

`torch.optim.AdamW` imports torch._dynamo and sympy when it is made. What is here has the attributes and the state that
gradient scalers and checkpoints of `torch.optim` use.
"""

import math

import torch


class AdamW:
    """Adam with decoupled weight decay (Loshchilov & Hutter, arXiv 1711.05101).

    Parameters
    ----------
    parameters : iterable of torch.nn.Parameter
    decay : float
        Of weights, times the rate a step.
    epsilon : float
        Added to the root of the second moment.
    betas : tuple of float
        Of the two moments.

    Attributes
    ----------
    rate : float
        Set it before each step.
    """

    def __init__(self, parameters, *, decay, epsilon, betas=(0.9, 0.999)):
        self.parameters = [p for p in parameters if p.requires_grad]
        self.param_groups = [{"params": self.parameters}]  # where gradient scalers look
        self.rate, self.decay, self.epsilon, self.betas = 0.0, decay, epsilon, betas
        self.steps, self.moments = 0, [[torch.zeros_like(p) for p in self.parameters] for _ in betas]

    def zero_grad(self):
        """Set gradients to zero where there are any."""
        for parameter in self.parameters:
            if parameter.grad is not None:
                parameter.grad.zero_()

    @torch.no_grad()
    def step(self):
        """Move all parameters by their gradients, which must be there."""
        self.steps += 1
        first, second = (1 - beta**self.steps for beta in self.betas)  # moments begin at zero
        for parameter, mean, square in zip(self.parameters, *self.moments, strict=True):
            grad = parameter.grad
            parameter.mul_(1 - self.rate * self.decay)
            mean.lerp_(grad, 1 - self.betas[0])
            square.mul_(self.betas[1]).addcmul_(grad, grad, value=1 - self.betas[1])
            root = (square.sqrt() / math.sqrt(second)).add_(self.epsilon)
            parameter.addcdiv_(mean, root, value=-self.rate / first)

    def state_dict(self):
        """The state, laid out as torch's."""
        return {"state": {i: {"step": torch.tensor(float(self.steps)), "exp_avg": mean, "exp_avg_sq": square}
                          for i, (mean, square) in enumerate(zip(*self.moments, strict=True)) if self.steps}}

    def load_state_dict(self, state):
        """Continue from what `state_dict` gave, or that of ``torch.optim.AdamW``."""
        for i, kept in state["state"].items():
            self.steps = int(kept["step"])
            for moments, name in zip(self.moments, ("exp_avg", "exp_avg_sq"), strict=True):
                moments[i].copy_(kept[name])
