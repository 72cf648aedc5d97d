"""A conversation with all that a reply may hold, photographed: folded and live thoughts, formulas, tables, hits."""

from __future__ import annotations

from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from app import attachments
from app.attachments import Attachment
from app.ui.text import links
from app.ui.transcript.reply_view import ReplyView
from app.ui.transcript.sections import ThinkingSection
from tests.ui.scene import Scene

RICH = r"""<think>
The user wants the update rule, so I start from $f(x + d) \approx f(x) + \nabla f(x)^\top d$.

- A step along $-\nabla f$ goes down fastest.
- Its length is what has to be chosen with care.

Let me also compare it with Newton's method in a table.
</think>

## Gradient descent, in short

The update is $x_{k+1} = x_k - \eta\,\nabla f(x_k)$; for a **convex** $f$ it converges when $\eta \le \frac{1}{L}$.

A run costs $5 to $6 on a rented machine.

$$
f(x^{*}) = \min_{x\in\mathbb{R}^n} \sum_{i=1}^{m} \frac{1}{2}\left(a_i^\top x - b_i\right)^2
$$

1. **Start** somewhere, e.g. at `x = 0`.
   - near the answer, if you know where that is
     - and never at a saddle
2. Walk down the slope.

   Shorter steps are safer, longer ones faster.
3. Stop when $\lVert \nabla f \rVert < \varepsilon$.

- [x] read the data
- [ ] plot the loss

```python
def descend(f, x, rate=0.1, steps=100):
    "Walks down the slope of f."
    for step in range(steps):
        x = x - rate * grad(f)(x)  # one step
    return {"x": x, "loss": f"{f(x):.3f}"}
```

> A step that is too long overshoots.
>
> > And then it may diverge, as with \(\eta > 2/L\).

| Method | Cost per step | Converges |
|:-------|--------------:|:---------:|
| Gradient descent | $O(nm)$ | linear |
| Newton | $O(n^3)$ | quadratic |
| `sgd` | $O(n)$ | slowly, with a falling step |

See [the paper](https://example.org/paper) and ![a plot](https://example.org/loss.png). Raw <b>HTML</b> stays.
"""


def play(scene: Scene) -> None:
    window = scene.window
    window.resize(1280, 800)
    window.show()
    window.load_model("/models/SmolLM2-135M-Instruct")
    scene.wait()
    scene.engine.reply = lambda prompt: RICH
    notes = Attachment("notes.txt", "rate 0.1\nsteps 100\n")
    window.composer.set_content(attachments.join("How does gradient descent work?", (notes,)))
    window.composer.on_submitted()
    scene.wait()
    window.resize(1280, 1500)
    scene.shoot("transcript")
    view = [item for item in window.transcript.items() if isinstance(item, ReplyView)][-1]
    section = view.findChildren(ThinkingSection)[0]
    section.header.click()
    scene.shoot("transcript-thoughts")
    window.resize(640, 1500)
    scene.shoot("transcript-narrow")
    window.resize(1280, 800)
    window.find_bar.open_bar()
    QTest.keyClicks(window.find_bar.field, "step")
    while window.find_bar.finder.searching:
        QApplication.processEvents()
    window.find_bar.on_next()
    scene.shoot("transcript-find")
    window.find_bar.close_bar()
    scene.engine.hold = True
    window.composer.set_content("Once more, please.")
    window.composer.on_submitted()
    scene.engine.hold = False
    for _ in range(40):
        scene.engine.on_step()
    scene.engine.hold = True
    QTest.qWait(80)
    scene.shoot("transcript-thinking")
    scene.engine.hold = False
    scene.wait()
    question = links.ask("https://example.org/paper", window)
    QTest.qWait(80)
    scene.shoot("transcript-link", question)
    question.close()
