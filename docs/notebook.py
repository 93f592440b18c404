"""Make docs/example.ipynb: the cells are here, and running them fills in the outputs."""

from __future__ import annotations

from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

DOCS = Path(__file__).resolve().parent
CELLS = [
    """# Labels for a table, from Python

The chemical elements, of which three of each kind have a label (`sample_data/elements.csv`). The network has not seen
this table before.""",
    """import pandas as pd

from vsacli import VSAClassifier, VSARegressor

table = pd.read_csv("../sample_data/elements.csv")
truth = pd.read_csv("../sample_data/elements-truth.csv")["metal"]
y = table.pop("metal")
print(f"{y.notna().sum()} of {len(y)} rows have a label")
table.head()""",
    """## Fill in the missing ones

Nothing is trained here: `fit` uses a network that was trained on many other tables.""",
    """model = VSAClassifier().fit(table, y)
filled = pd.Series(model.transduction_)
hidden = y.isna() & truth.notna()
print(f"{(filled == truth)[hidden].sum()} of {hidden.sum()} hidden labels are right")
pd.crosstab(truth[hidden], filled[hidden], rownames=["true"], colnames=["filled"])""",
    """## How sure is it?

Right answers should have a higher confidence.""",
    """confidence = pd.Series(model.label_distributions_.max(axis=1))
right = (filled == truth)[hidden].rename("right")
confidence[hidden].groupby(right).agg(["count", "mean", "min", "max"]).round(3)""",
    """## Where the network places the rows

The embeddings on two axes. Squares are the rows that were labeled from the start.""",
    """import matplotlib.pyplot as plt
from sklearn.decomposition import PCA

points = PCA(2).fit_transform(model.embed(table))
figure, panel = plt.subplots(figsize=(6, 4), layout="constrained")
for i, kind in enumerate(model.classes_):
    for given, marker in ((y.notna(), "s"), (y.isna(), "o")):
        at = ((filled == kind) & given).to_numpy()
        panel.scatter(*points[at].T, marker=marker, s=22, color=f"C{i}", label=kind if marker == "s" else None)
panel.legend(fontsize=7, ncols=2)
panel.set(xticks=[], yticks=[])
plt.show()""",
    """## Numbers

`sample_data/diabetes.csv`: the progression of a disease, known for 40 of 442 people.""",
    """people = pd.read_csv("../sample_data/diabetes.csv")
progression = people.pop("progression")
regressor = VSARegressor().fit(people, progression)
answers = {"given": progression, "filled": regressor.transduction_, "std": regressor.transduction_std_}
pd.DataFrame(answers).head(8).round(1)""",
]


def main() -> None:
    cells = [new_markdown_cell(text) if text.startswith("#") else new_code_cell(text) for text in CELLS]
    for i, cell in enumerate(cells):
        cell["id"] = f"cell-{i}"
    notebook = new_notebook(cells=cells, metadata={"language_info": {"name": "python"}})
    NotebookClient(notebook, timeout=600, kernel_name="python3", resources={"metadata": {"path": str(DOCS)}}).execute()
    notebook.metadata = {"language_info": {"name": "python"}}
    for cell in notebook.cells:
        cell.metadata = {}  # without the time at which a cell ran
    nbformat.write(notebook, DOCS / "example.ipynb")


if __name__ == "__main__":
    main()
