import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, a, b, c):
        super(Model, self).__init__()
        self.fc1 = nn.Linear(16 * 5 * 5, b)
        self.fc2 = nn.Linear(b, c)

    def forward(self, x):
        x = x.view(-1, 16 * 5 * 5)
        return self.fc2(torch.relu(self.fc1(x)))


batch_size = 4096
a = 400
b = 120
c = 84


def get_inputs():
    return [torch.rand(batch_size, 16, 5, 5)]


def get_init_inputs():
    return [a, b, c]
