"""From latent columns to the attributes of a table as somebody recorded it: units, categories, gaps, errors."""

from __future__ import annotations

import torch
from torch import Tensor

from vsacli.tasks.synthetic.draws import Draws, pick_columns, standardise

MAX_LEVELS = 10
LIMIT = 4.0  # as vsacli.attributes.scaling.LIMIT
NORMAL_IQR = 1.3489795


def observe(draws: Draws, x: Tensor) -> tuple[Tensor, Tensor]:
    """Turn columns (b, N, M) into attributes and say which cells are known.

    In this order: monotone transforms, categories (numbered in a random or in their own order, or spread over 0/1
    attributes), outliers, gaps, standardisation. Returns x (b, N, M) with 0 where unknown, and observed (b, N, M).
    """
    x = recode(draws, transform(draws, standardise(x)))
    x = add_outliers(draws, x)
    observed = make_gaps(draws, x)
    return scale_known(x, observed), observed


def quantiles(x: Tensor) -> Tensor:
    """Share of rows with a smaller value, in [0, 1), for x (b, N, M); equal values have equal shares."""
    columns = x.transpose(1, 2).contiguous()
    return (torch.searchsorted(columns.sort(2).values, columns) / x.shape[1]).transpose(1, 2)


def transform(draws: Draws, x: Tensor) -> Tensor:
    """Change the unit of some attributes: exponential, logarithm, signed power, rank, or coarse rounding.

    Half of the tasks leave every attribute as it is, the others change each with a rate uniform in [0, 1]. Random
    choices: one per task, three per attribute.
    """
    b, _, m = x.shape
    rate = draws.sparse_level(b, 1, 1, none=0.5, high=1.0)
    kind = draws.integers(b, 1, m, low=1, high=5) * draws.chance(b, 1, m, p=rate)
    strength = draws.uniform(b, 1, m, low=0.4, high=1.5)
    bounded = x.clamp(-5.0, 5.0)
    power = x.sign() * bounded.abs().pow(torch.where(strength < 0.9, strength, 1.0 + strength))
    rank = quantiles(x)
    out = torch.where(kind == 1, (strength * bounded).exp(), x)
    out = torch.where(kind == 2, (bounded - bounded.amin(1, keepdim=True) + 0.1 * strength).log(), out)
    out = torch.where(kind == 3, power, out)
    out = torch.where(kind == 4, rank, out)
    return torch.where(kind == 5, (x * 2 * strength).round(), out)


def recode(draws: Draws, x: Tensor) -> Tensor:
    """Turn some attributes into categories.

    Per task a rate of categorical attributes (none in 55 % of the tasks, else uniform up to 1) and the share of those
    that are spread over 0/1 attributes. Per attribute: 2 to 10 levels cut at random quantiles, numbered in their order
    or in a random one. A spread category takes neighbouring attributes' places, one a level; the chance to end it is
    one in four at each place. (Attributes come here in random order, so what it displaces is random.)
    Random choices: two a task, seven an attribute and its ten level numbers.
    """
    b, _, m = x.shape
    rate = draws.sparse_level(b, 1, 1, none=0.55, high=1.0)
    categorical = draws.chance(b, 1, m, p=rate)
    levels = draws.log_uniform(b, 1, m, low=2.0, high=MAX_LEVELS + 1.0).long()
    uneven = draws.log_uniform(b, 1, m, low=0.5, high=2.0)
    quantile = quantiles(x)
    code = (quantile.pow(uneven) * levels).long().clamp(max=MAX_LEVELS - 1)
    number = draws.uniform(b, MAX_LEVELS, m).argsort(1)
    nominal = number.gather(1, code)
    codes = torch.where(draws.chance(b, 1, m, p=0.5), nominal, code).float()

    spread_share = draws.uniform(b, 1, 1)
    start = draws.chance(b, 1, m, p=0.25)
    start[..., 0] = True
    place = torch.arange(m, device=draws.device).view(1, 1, m)
    first = torch.where(start, place, 0).cummax(2).values
    spread = (draws.chance(b, 1, m, p=spread_share) & categorical).gather(2, first)
    level = place - first
    size = torch.zeros(b, 1, m, device=draws.device).scatter_add(2, first, torch.ones(b, 1, m, device=draws.device))
    size = size.gather(2, first).clamp(min=2.0)
    source = pick_columns(quantile, first.squeeze(1))
    bins = (source.pow(uneven.gather(2, first)) * size).long()
    indicators = (bins == level).float()
    out = torch.where(categorical, codes, x)
    return torch.where(spread, indicators, out)


def add_outliers(draws: Draws, x: Tensor) -> Tensor:
    """Multiply the deviation of a few cells by 3 to 30: in one task of five, up to 3 % of the cells.

    Random choices: one per task, one per attribute.
    """
    b, n, m = x.shape
    rate = draws.sparse_level(b, 1, 1, none=0.8, high=0.03)
    hit = draws.chance(b, n, m, p=rate)
    size = draws.log_uniform(b, 1, m, low=3.0, high=30.0)
    return torch.where(hit, x * size, x)


def make_gaps(draws: Draws, x: Tensor) -> Tensor:
    """Known cells (b, N, M) bool: two thirds of the tasks have no gap.

    The others have gaps at random, or where another attribute is large, or where the attribute itself is; the
    rate of an attribute is the task's (up to 40 %) times a number in [0, 2). Every attribute keeps two known cells.
    Random choices: three a task, five an attribute.
    """
    b, n, m = x.shape
    rate = draws.sparse_level(b, 1, 1, none=0.67, high=0.4) * draws.uniform(b, 1, m, high=2.0)
    only_some = draws.chance(b, 1, m, p=draws.uniform(b, 1, 1))
    rate = rate * only_some
    reason = draws.choice((2.0, 1.0, 0.5), b, 1, 1)
    cause = torch.where(reason == 1, pick_columns(x, draws.integers(b, m, low=0, high=m - 1)), x)
    pressure = torch.where(reason == 0, 1.0, 2.0 * quantiles(cause))
    known = ~draws.chance(b, n, m, p=(rate * pressure).clamp(max=0.9))
    first = draws.integers(b, 1, m, low=0, high=n - 1)
    second = (first + draws.integers(b, 1, m, low=1, high=n - 1)) % n
    return known.scatter(1, torch.cat([first, second], 1), True)


def scale_known(x: Tensor, observed: Tensor) -> Tensor:
    """Scale each attribute as `vsacli.attributes.scaling.RobustScale` scales a column of a file; 0 where unknown.

    That is: centre by the median and scale by the interquartile range of the known cells (where it is zero, by the
    median distance of the cells that differ from the median), then bound softly; two-valued columns become 0 and 1.
    """
    columns = x.transpose(1, 2)
    known = observed.transpose(1, 2)
    count = known.sum(2, keepdim=True)
    ordered = columns.masked_fill(~known, torch.inf).sort(2).values
    lower, centre, upper = (quantile_of_sorted(ordered, count, q) for q in (0.25, 0.5, 0.75))
    low, high = ordered[..., :1], ordered.gather(2, count - 1)
    two_valued = (((columns == low) | (columns == high)) | ~known).all(2, keepdim=True)

    away = (columns - centre).abs()
    differs = known & (away > 0)
    away = away.masked_fill(~differs, torch.inf).sort(2).values
    fallback = quantile_of_sorted(away, differs.sum(2, keepdim=True).clamp(min=1), 0.5)
    scale = torch.where(upper > lower, (upper - lower) / NORMAL_IQR, fallback)
    constant = low == high
    z = (columns - centre) / torch.where(constant, 1.0, scale)
    z = z.clamp(-1e9, 1e9)
    z = z / (1 + (z / LIMIT).square()).sqrt()
    z = torch.where(two_valued, (columns - low) / torch.where(constant, 1.0, high - low), z)
    return z.masked_fill(~known, 0.0).transpose(1, 2).contiguous()


def quantile_of_sorted(ordered: Tensor, count: Tensor, q: float) -> Tensor:
    """Quantile of the first `count` (…, 1) entries of the last dimension, interpolated linearly."""
    place = (count - 1) * q
    below = place.long()
    a = ordered.gather(2, below)
    b = ordered.gather(2, torch.minimum(below + 1, count - 1))
    return torch.where(a == b, a, a + (b - a) * (place - below))
