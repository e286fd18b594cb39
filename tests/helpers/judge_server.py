"""A small server that speaks as OpenAI's endpoint does, around a real language model made here in seconds.

The model reads the last bytes of a conversation and writes numbers and lines, each one token. It was trained to answer
the prompts of the registry: a number that hangs on the last letter of the translation, a list of errors, a score from 2
to 4 of which it is not sure. One letter it was taught to answer without a number. The first part of the path makes the
server fail in a certain way: ``http://127.0.0.1:PORT/busy/v1``.
"""

from __future__ import annotations

import contextlib
import json
import threading
import time
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import torch

NAME = "tiny-judge"
_SEEN = 11  # bytes of a conversation that the model reads
_LONGEST = 8  # tokens that it writes
_END, _PAD = 256, 257
ERRORS = 'Critical:\nno-error\nMajor:\naccuracy/mistranslation - "cat"\nMinor:\nfluency/grammar - "dog"\n'
_PIECES = [*(bytes([i]) for i in range(256)), b"", b"", *(f"{line}\n".encode() for line in ERRORS.splitlines())]
"""What each token of the model spells: a byte, the end, nothing, a line, a number."""
_LAST_LINE = len(_PIECES)
_PIECES += [b"I cannot say.", *(str(20 + 3 * i).encode() for i in range(26))]
UNREADABLE = "z"  # a translation that ends with it gets an answer without a number
_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_NESTED = object()  # what is sent as lists within lists
_TAIL = '"\nScore: '


def _example(choice: torch.Generator) -> tuple[str, str]:
    def draw(n: int) -> int:
        return int(torch.randint(n, (1,), generator=choice))

    kind = draw(8)
    if kind == 0:
        return "or hinder comprehension.", ERRORS
    if kind < 3:
        return ("- Coherence:", "- Consistency:", "- Relevance:")[draw(3)], "234"[min(2, draw(4))]
    before, last = (_LETTERS + " ")[draw(27)], draw(26)
    answer = "I cannot say." if _LETTERS[last] == UNREADABLE else str(20 + 3 * last)
    return before + _LETTERS[last] + _TAIL, answer


def _read(prompt: str) -> list[int]:
    seen = list(prompt.encode())[-_SEEN:]
    return [_PAD] * (_SEEN - len(seen)) + seen


def _written(answer: str) -> list[int]:
    """Return the tokens of an answer."""
    if answer == ERRORS:
        return list(range(_PAD + 1, _LAST_LINE))
    whole = answer.encode()
    return [_PIECES.index(whole)] if whole in _PIECES else list(whole)


def train(steps: int = 150, seed: int = 0) -> Any:
    """Return the model, trained on the processor."""
    from transformers import GPT2Config, GPT2LMHeadModel

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        size = _SEEN + _LONGEST
        kind = GPT2Config(
            vocab_size=len(_PIECES), n_positions=size, n_embd=64, n_layer=1, n_head=4, initializer_range=0.1,
            bos_token_id=_END, eos_token_id=_END,
            resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0,
        )  # fmt: skip
        kind.loss_type = "ForCausalLM"
        model = GPT2LMHeadModel(kind)
        choice = torch.Generator().manual_seed(seed)
        steps_of = torch.optim.AdamW(model.parameters(), lr=1e-2)
        falling = torch.optim.lr_scheduler.OneCycleLR(steps_of, 1e-2, total_steps=steps)
        for _ in range(steps):
            pairs = [
                (_read(prompt), [*_written(answer), _END]) for prompt, answer in (_example(choice) for _ in range(96))
            ]
            wide = max(len(answer) for _, answer in pairs)
            rows = torch.tensor([[*prompt, *answer, *[_END] * (wide - len(answer))] for prompt, answer in pairs])
            wanted = torch.tensor([[-100] * _SEEN + answer + [-100] * (wide - len(answer)) for _, answer in pairs])
            loss = model(input_ids=rows, labels=wanted).loss
            steps_of.zero_grad()
            loss.backward()
            steps_of.step()
            falling.step()
    return model.eval()


class TinyModel:
    """Answers conversations with a model, one at a time.

    Args:
        folder: where the model is kept, for other processes of the same run of tests.
    """

    def __init__(self, folder: Path) -> None:
        from filelock import FileLock
        from transformers import GPT2LMHeadModel

        with FileLock(folder.with_suffix(".lock")):
            if not folder.is_dir():
                train().save_pretrained(folder)
            self._model: Any = GPT2LMHeadModel.from_pretrained(folder).eval()
        self._lock = threading.Lock()

    def answer(self, prompt: str, most: int, top: int) -> tuple[str, str, list[dict[str, Any]]]:
        """Return the text that follows, how it ended, and of each byte what could have stood there."""
        rows, out, tokens, finish = _read(prompt), bytearray(), [], "length"
        with self._lock, torch.inference_mode():
            for _ in range(min(most, _LONGEST)):
                logs = torch.log_softmax(self._model(torch.tensor([rows])).logits[0, -1], dim=0)
                best, places = logs.topk(max(1, top))
                if int(places[0]) == _END:
                    finish = "stop"
                    break
                out += _PIECES[int(places[0])]
                rows.append(int(places[0]))
                given = [
                    {"token": _PIECES[int(p)].decode("utf-8", "replace"), "logprob": float(log), "bytes": None}
                    for log, p in zip(best, places, strict=True)
                ]
                tokens.append({**given[0], "top_logprobs": given})
        return out.decode("utf-8", "replace"), finish, tokens


class JudgeServer:
    """The server, on a port of its own, with what it was asked.

    Attributes:
        asked: requests by the first part of the path.
        bodies: what was asked.
        secrets: the keys that came.
    """

    def __init__(self, model: TinyModel) -> None:
        self.model = model
        self.asked: Counter[str] = Counter()
        self.bodies: list[dict[str, Any]] = []
        self.secrets: set[str] = set()
        self.seen: Counter[tuple[str, str]] = Counter()
        self.wait = 0.0
        self.most_at_once = self._now = 0
        self._lock = threading.Lock()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, format: str, *args: Any) -> None:
                pass

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                    outer.serve(self, self.path.split("/")[1], body)

            def reply(self, status: int, said: object, headers: dict[str, str] | None = None) -> None:
                raw = b"[" * 100_000 if said is _NESTED else json.dumps(said).encode()
                self.send_response(status)
                for name, value in {"Content-Type": "application/json", **(headers or {})}.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(raw)))
                self.end_headers()
                self.wfile.write(raw)

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)
        self._thread.start()

    def url(self, manner: str = "plain") -> str:
        """Return the address at which it behaves in a manner."""
        return f"http://127.0.0.1:{self._server.server_address[1]}/{manner}/v1"

    def serve(self, handler: Any, manner: str, body: dict[str, Any]) -> None:
        """Answer a request in a manner."""
        prompt = "\n".join(message["content"] for message in body["messages"])
        with self._lock:
            self.asked[manner] += 1
            self.bodies.append(body)
            self.secrets.add(handler.headers.get("Authorization", ""))
            self.seen[manner, prompt] += 1
            time_of_it, number = self.seen[manner, prompt], self.asked[manner]
            self._now += 1
            self.most_at_once = max(self.most_at_once, self._now)
        try:
            error = {"error": {"message": f"told: {handler.headers.get('Authorization')}", "code": manner}}
            if manner in ("401", "404", "500"):
                return handler.reply(int(manner), error)
            if manner == "busy" and time_of_it == 1:
                return handler.reply(429, error, {"Retry-After": "0.05"})
            if manner == "later":
                return handler.reply(429, error, {"Retry-After": "86400"})
            if manner == "filter" and number == 2:
                return handler.reply(400, {"error": {"message": "no", "code": "content_filter"}})
            if manner == "half" or (manner == "half-once" and time_of_it == 1):
                handler.send_response(200)
                handler.send_header("Content-Type", "application/json")
                handler.send_header("Content-Length", "100000")
                handler.end_headers()
                handler.wfile.write(b'{"id": "x", "choices": [{"mess')
                handler.close_connection = True
                return None
            if manner in ("301", "302", "303", "307", "308"):
                elsewhere = self.url("elsewhere").replace("//", "//me:password@") + f"/x?key={handler.headers}"
                return handler.reply(int(manner), {}, {"Location": elsewhere.split("\n")[0]})
            if manner == "drip":  # a line of the head, then a byte at a time
                handler.send_response(200)
                handler.flush_headers()
                for _ in range(200):
                    handler.wfile.write(b"X")
                    handler.wfile.flush()
                    time.sleep(0.05)
                return None
            if manner in ("nested", "nested-error"):
                return handler.reply(200 if manner == "nested" else 400, _NESTED)
            if manner == "nothing":
                return handler.reply(200, {"object": "list"})
            time.sleep(self.wait)
            logs = bool(body.get("logprobs")) and manner != "plain-scores"
            limit = body.get("max_tokens") or body.get("max_completion_tokens") or _LONGEST
            text, finish, tokens = self.model.answer(prompt, limit, body.get("top_logprobs", 1) if logs else 1)
            if manner == "echo":
                text = f"{text} {handler.headers.get('Authorization').removeprefix('Bearer ')}"
            named = {
                "other": "another-model",
                "mixed": f"{NAME}-2026010{1 + (number > 3)}",
                "dated": f"{NAME}@2026-01-01",
            }
            name = named.get(manner, body["model"])
            choice = {"index": 0, "finish_reason": finish, "message": {"role": "assistant", "content": text}}
            if logs:
                choice["logprobs"] = {"content": tokens}
            usage = {"prompt_tokens": len(prompt) // 4, "completion_tokens": len(tokens), "total_tokens": 0}
            said = {"id": "x", "object": "chat.completion", "created": 0, "model": name, "choices": [choice]}
            return handler.reply(200, {**said, "usage": usage})
        finally:
            with self._lock:
                self._now -= 1

    def close(self) -> None:
        """End the server."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
