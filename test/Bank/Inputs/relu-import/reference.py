import torch.nn as nn


class Reference(nn.Module):
    ...
