"""Whether columns are heard that say something in an unusual way: filled or empty, a part of a code, a notation, text.

    python benchmarks/heard.py [--seeds 3] [--rows 80] [--labels 8]

Each made table has one column that decides between two classes, and two of noise; so many rows of each class have a
label. Beside `vsa label`, as a person would do it in a few lines: a random forest on columns of numbers (-1 where a
cell is empty, codes of words), and logistic regression on n-grams of two to four characters of the whole row.
"""

from __future__ import annotations

import argparse
import io
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from vsacli import LabelOptions, label_table, read_table

Maker = Callable[[np.random.Generator, int], str]  # the deciding cell of a row of class 0 or 1

PERSIAN = str.maketrans("0123456789.", "۰۱۲۳۴۵۶۷۸۹٫")
WORDS = {
    "Chinese": ("退款处理太慢了", "物流速度很快", ["今天", "客服", "我的", "订单", "请问", "产品", "价格", "昨天"]),
    "Japanese": ("返金が遅いです", "配送が早いです", ["今日", "注文", "商品", "担当", "昨日", "価格", "箱", "店"]),
    "Thai": ("คืนเงินช้ามาก", "จัดส่งรวดเร็ว", ["วันนี้", "สินค้า", "ราคา", "เมื่อวาน", "ร้าน", "กล่อง", "ฉัน", "พนักงาน"]),
}


def _near(rng: np.random.Generator, c: int, low: float = 10, high: float = 30) -> float:
    return float(rng.normal((low, high)[c], (high - low) / 8))


def _sentence(rng: np.random.Generator, c: int, language: str) -> str:
    words = [str(word) for word in rng.permutation(WORDS[language][2])[:4]]
    return "".join([*words[:2], str(WORDS[language][c]), *words[2:]])


KINDS: dict[str, dict[str, Maker]] = {
    "filled or empty": {
        "number": lambda rng, c: f"{rng.uniform(1, 90):.2f}" if c else "",
        "date": lambda rng, c: f"2024-{rng.integers(1, 13):02d}-{rng.integers(1, 29):02d}" if c else "",
        "text": lambda rng, c: f"note {rng.integers(10**6)}" if c else "",
    },
    "part of a code": {
        "prefix": lambda rng, c: f"{('FRZ', 'DRY')[c]}-{rng.integers(10**5):05d}",
        "chapter": lambda rng, c: f"{('I', 'J')[c]}{rng.integers(10, 99)}.{rng.integers(10)}",
        "address": lambda rng, c: f"{('10.20', '172.16')[c]}.{rng.integers(256)}.{rng.integers(256)}",
        "range": lambda rng, c: f"${(low := int(_near(rng, c) * 50))}-${low + 249}",
        "plus minus": lambda rng, c: f"{_near(rng, c):.1f} ± {rng.uniform(0.1, 0.9):.1f}",
        "mark": lambda rng, c: f"{rng.uniform(1, 90):.2f} {('DR', 'CR')[c]}",
    },
    "notation": {
        "parentheses": lambda rng, c: f"{v:.2f}" if (v := _near(rng, c, -20, 20)) >= 0 else f"({-v:.2f})",
        "unit": lambda rng, c: f"{_near(rng, c):.1f} kg",
        "Persian": lambda rng, c: f"{_near(rng, c):.2f}".translate(PERSIAN),
        "formula": lambda rng, c: f'"=""{_near(rng, c):.1f}"""',
        "feet": lambda rng, c: f'"{4 + c}\'{rng.integers(12)}"""',
        "position": lambda rng, c: f'"{int(_near(rng, c, 20, 60))}°{rng.integers(60)}\'{rng.integers(60):02d}""N"',
    },
    "text without spaces": {name: lambda rng, c, name=name: _sentence(rng, c, name) for name in WORDS},
}


def make(maker: Maker, rows: int, labels: int, seed: int) -> tuple[str, np.ndarray, np.ndarray]:
    """A table as CSV, the class of each row, and which rows have a label."""
    rng = np.random.default_rng(seed)
    truth = rng.permutation(np.arange(rows) % 2)
    given = np.concatenate([np.flatnonzero(truth == c)[:labels] for c in (0, 1)])
    lines = ["noise,says,more,label"]
    for i, c in enumerate(truth.tolist()):
        label = ("no", "yes")[c] if i in given else ""
        lines.append(f"{rng.normal():.3f},{maker(rng, c)},{rng.choice(list('pqr'))},{label}")
    return "\n".join(lines) + "\n", truth, np.isin(np.arange(rows), given)


def labeled_by_vsa(text: str) -> list[str]:
    """All labels of the table as `vsa label` fills them in."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "in.csv")
        path.write_text(text, encoding="utf-8")
        sink = io.BytesIO()
        label_table(read_table(path), LabelOptions(target="label")).write(sink)
    return pd.read_csv(io.BytesIO(sink.getvalue()), dtype=str)["label"].tolist()


def by_forest(frame: pd.DataFrame, truth: np.ndarray, given: np.ndarray) -> np.ndarray:
    from sklearn.ensemble import RandomForestClassifier

    columns = []
    for name in ("noise", "says", "more"):
        numbers = pd.to_numeric(frame[name], errors="coerce")
        words = numbers.isna().sum() > frame[name].eq("").sum()
        columns.append(pd.factorize(frame[name])[0] if words else numbers.fillna(-1))
    x = np.column_stack(columns)
    return RandomForestClassifier(300, random_state=0).fit(x[given], truth[given]).predict(x)


def by_ngrams(frame: pd.DataFrame, truth: np.ndarray, given: np.ndarray) -> np.ndarray:
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression

    rows = (frame["noise"] + " | " + frame["says"] + " | " + frame["more"]).tolist()
    counted: Any = TfidfVectorizer(analyzer="char", ngram_range=(2, 4), sublinear_tf=True).fit_transform(rows)
    x = counted.toarray()
    return LogisticRegression(C=10, max_iter=1000).fit(x[given], truth[given]).predict(x)


def main() -> None:
    """Print a row for each kind and its variants: shares of right answers, mean over seeds."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--rows", type=int, default=80)
    parser.add_argument("--labels", type=int, default=8, help="of each class")
    args = parser.parse_args()
    print(f"{'kind':22} {'column':14} {'vsa':>6} {'forest':>7} {'n-grams':>8}")
    for kind, makers in KINDS.items():
        means = []
        for name, maker in makers.items():
            right = np.zeros((args.seeds, 3))
            for seed in range(args.seeds):
                text, truth, given = make(maker, args.rows, args.labels, seed)
                frame = pd.read_csv(io.StringIO(text), dtype=str, keep_default_na=False)
                vsa = np.array([label == "yes" for label in labeled_by_vsa(text)])
                every = (vsa, by_forest(frame, truth, given), by_ngrams(frame, truth, given))
                right[seed] = [(answer[~given] == truth[~given]).mean() for answer in every]
            means.append(right.mean(axis=0))
            print(f"{kind:22} {name:14} " + " {:6.3f} {:7.3f} {:8.3f}".format(*means[-1]).strip(), flush=True)
        print(f"{kind:22} {'mean':14} " + " {:6.3f} {:7.3f} {:8.3f}".format(*np.mean(means, axis=0)).strip())


if __name__ == "__main__":
    main()
