# task: level1/relu
# rule: no-kernel
# What is called `tjit` keeps the function as it is: its body is Python, and torch's.
import torch
import torch.nn as nn
import triton
import triton.language as tl

tjit = triton.jit


def plain(function):
    return function


tjit = plain


@tjit
def work(x):
    return torch.relu(x)


class ModelNew(nn.Module):
    def forward(self, x):
        return work(x)
