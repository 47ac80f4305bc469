"""The chat model over a server: what it asks, when it asks again, what it raises, and that the key stays its own."""

from __future__ import annotations

import json
import logging
import re
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from email.utils import formatdate
from typing import Any

import pytest

from smile_lite.chat.answers import Answer, asked_wait, quoter, rejects
from smile_lite.chat.openai import LONGEST_WAIT, ChatUsage, OpenAiChat, exponential
from smile_lite.chat.protocol import ChatModel
from smile_lite.errors import ExtraMissing, ModelError, ModelUnavailable, NoReply, UsageError

from .chat_server import (
    ECHO,
    Behaviour,
    ChatServer,
    Request,
    broken_json,
    choice,
    completion,
    drop_before_reply,
    drop_mid_body,
    empty_choice,
    no_content,
    not_json,
    ok,
    slow,
    stall_mid_body,
    status,
)

pytest.importorskip("openai", reason="the extra openai is not installed")

KEY = "sk-test/0123456789+abc"
QUESTION = [{"role": "system", "content": "Be short."}, {"role": "user", "content": "Capital of France?"}]
TRANSPORTS = ("httpx", "httpx2")


@pytest.fixture(autouse=True)
def _nothing_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("API_KEY", "BASE_URL", "ADMIN_KEY", "ORG_ID", "PROJECT_ID", "CUSTOM_HEADERS", "LOG"):
        monkeypatch.delenv(f"OPENAI_{name}", raising=False)
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)


@pytest.fixture
def open_chat() -> Iterator[Callable[..., OpenAiChat]]:
    """Makes chat models that hardly wait before they ask again, and closes them."""
    opened: list[OpenAiChat] = []

    def make(server: ChatServer | None = None, **options: Any) -> OpenAiChat:
        address = {"base_url": server.url} if server else {}
        chat = OpenAiChat(**{"model": "tiny", "backoff": lambda _: 0.001, **address, **options})
        opened.append(chat)
        return chat

    yield make
    for chat in opened:
        chat.close()


Open = Callable[..., OpenAiChat]


def ask(chat: OpenAiChat, question: str = "Capital of France?", *, max_tokens: int = 16) -> str:
    return chat.reply([{"role": "user", "content": question}], max_tokens=max_tokens)


# --- what is asked


def test_a_question_becomes_one_greedy_request_and_its_text_comes_back_as_it_is(open_chat: Open) -> None:
    with ChatServer(ok(" Paris.\n")) as server:
        assert open_chat(server, seed=3).reply(QUESTION, max_tokens=16) == " Paris.\n"
    (request,) = server.requests
    assert request.path == "/v1/chat/completions"
    wanted = {"model": "tiny", "messages": QUESTION, "max_tokens": 16, "temperature": 0, "seed": 3}
    assert request.body == wanted


def test_it_is_a_chat_model(open_chat: Open) -> None:
    with ChatServer() as server:
        chat = open_chat(server, concurrency=3)
        assert isinstance(chat, ChatModel)
        assert chat.concurrency == 3


@pytest.mark.parametrize(
    ("model", "name"),
    [
        ("openai/gpt-4o-mini", "openai/gpt-4o-mini"),
        ("qwen2.5:7b", "qwen2.5-7b"),
        ("My model | v:2", "My-model-v-2"),
        ("größe@1_0", "gr-e@1_0"),
    ],
)
def test_the_name_fits_into_a_signature(open_chat: Open, model: str, name: str) -> None:
    with ChatServer() as server:
        chat = open_chat(server, model=model)
        ask(chat)
    assert chat.name == name
    assert server.requests[0].body["model"] == model


def test_a_reply_that_was_cut_at_max_tokens_is_a_reply(open_chat: Open) -> None:
    with ChatServer(ok("It is the city of", finish_reason="length")) as server:
        assert ask(open_chat(server)) == "It is the city of"


def test_half_a_surrogate_pair_neither_stops_a_question_nor_leaves_a_reply(open_chat: Open) -> None:
    with ChatServer(then=lambda request: ok(f"{request.question}\ud800")) as server:
        assert ask(open_chat(server), "is it \udfff") == "is it ??"


def test_the_server_does_not_learn_what_machine_is_asking(open_chat: Open) -> None:
    with ChatServer() as server:
        ask(open_chat(server))
    told = set(server.requests[0].headers)
    assert not told & {f"x-stainless-{name}" for name in ("os", "arch", "lang", "runtime", "runtime-version")}


# --- the address and the key


def test_the_key_comes_from_the_variable_that_was_named(open_chat: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JUDGE_KEY", f" {KEY}\n")
    monkeypatch.setenv("OPENAI_API_KEY", "another")
    with ChatServer() as server:
        ask(open_chat(server, key_variable="JUDGE_KEY"))
        ask(open_chat(server))
        ask(open_chat(server, key_variable="NO_SUCH_KEY"))
    sent = [request.headers["authorization"] for request in server.requests]
    assert sent == [f"Bearer {KEY}", "Bearer another", "Bearer no-key"]


def test_an_administrator_s_key_is_never_sent(open_chat: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_ADMIN_KEY", "the-administrator")
    with ChatServer() as server:
        ask(open_chat(server))
    assert "the-administrator" not in str(server.requests[0].headers)


def test_the_server_comes_from_the_environment_unless_it_is_given(
    open_chat: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ChatServer(then=ok("the first")) as first, ChatServer(then=ok("the second")) as second:
        monkeypatch.setenv("OPENAI_BASE_URL", f"{first.url}\n")
        assert ask(open_chat()) == "the first"
        assert ask(open_chat(second)) == "the second"


@pytest.mark.parametrize("base_url", [None, "https://api.openai.com/v1"])
@pytest.mark.parametrize("from_environment", [None, ""])
def test_the_public_endpoint_without_a_key_is_refused_with_the_variable_s_name(
    base_url: str | None, from_environment: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    if from_environment is not None:
        monkeypatch.setenv("OPENAI_BASE_URL", from_environment)
    with pytest.raises(UsageError, match="JUDGE_KEY is not set"):
        OpenAiChat("tiny", base_url=base_url, key_variable="JUDGE_KEY")


@pytest.mark.parametrize(
    "url",
    [
        "localhost:8000/v1",
        "ftp://host/v1",
        "http://",
        "http://:8000/v1",
        "http://host:99999/v1",
        "http://host:port/v1",
        "http://[::1/v1",
        "http://ho st/v1",
        "http://host/v1\x00",
        "https://user:hunter2@host/v1",
        "https://hunter2@host/v1",
        "https://host/v1?key=hunter2",
        "https://host/v1#hunter2",
        "hunter2",
    ],
)
def test_a_base_url_that_is_none_or_holds_a_secret_is_refused_and_not_repeated(url: str) -> None:
    with pytest.raises(UsageError, match="base URL") as caught:
        OpenAiChat("tiny", base_url=url)
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize("key", ["two words", "line\nend", "schlüssel", "nul\x00"])
def test_a_key_that_fits_in_no_header_is_refused_and_not_repeated(key: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        if "\x00" in key:
            patch.setattr("os.environ", {"OPENAI_API_KEY": key})  # the real one holds no such value
        else:
            patch.setenv("OPENAI_API_KEY", key)
        with pytest.raises(UsageError, match="OPENAI_API_KEY holds characters") as caught:
            OpenAiChat("tiny", base_url="http://127.0.0.1:9/v1")
    assert key not in str(caught.value)


@pytest.mark.parametrize("wrong", [{"model": " "}, {"concurrency": 0}, {"timeout": 0}, {"retries": -1}])
def test_arguments_that_make_no_sense_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match="concurrency >= 1"):
        OpenAiChat(**{"model": "tiny", "base_url": "http://127.0.0.1:9/v1", **wrong})


def test_without_the_sdk_the_error_holds_the_command_that_brings_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "openai", None)
    with pytest.raises(ExtraMissing, match=r"asking a chat server .* pip install 'smile-lite\[openai\]'"):
        OpenAiChat("tiny", base_url="http://127.0.0.1:9/v1")


def test_importing_the_module_imports_neither_the_sdk_nor_a_network() -> None:
    program = (
        "import sys, smile_lite.chat.openai\n"
        "print(sorted({'openai', 'httpx', 'httpx2', 'pydantic', 'ssl'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)
    assert (done.stdout.strip(), done.stderr) == ("[]", "")


# --- proxies


def test_the_proxy_of_the_environment_is_used(open_chat: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    with ChatServer(ok("by way of the proxy")) as proxy:
        monkeypatch.setenv("HTTP_PROXY", proxy.address)
        assert ask(open_chat(base_url="http://chat.invalid/v1")) == "by way of the proxy"
    assert proxy.requests[0].path == "http://chat.invalid/v1/chat/completions"


def test_no_proxy_leads_past_it(open_chat: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    with ChatServer(then=status(502)) as proxy, ChatServer(ok("straight")) as server:
        monkeypatch.setenv("HTTP_PROXY", proxy.address)
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        assert ask(open_chat(server)) == "straight"
    assert not proxy.requests


def test_a_proxy_that_cannot_be_used_is_told_without_its_password(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALL_PROXY", "gopher://user:hunter2@127.0.0.1:9")
    with pytest.raises(UsageError, match="a proxy .* of the environment, is wrong: .*gopher") as caught:
        OpenAiChat("tiny", base_url="http://127.0.0.1:9/v1")
    assert "hunter2" not in chain(caught.value)


# --- asking again

BUSY = [status(code) for code in (408, 409, 429, 500, 502, 503, 504, 529)]
LOST = [drop_before_reply(), drop_before_reply(reset=True)]
BROKEN = [
    broken_json(),
    not_json(),
    empty_choice(),
    no_content(),
    ok(" \n"),
    drop_mid_body(),
    drop_mid_body(reset=True),
]
ODD = [
    completion("no list"),
    completion(["no object"]),
    completion([{"text": "an old completion"}]),
    completion([choice([{"type": "text", "text": "parts"}])]),
    Behaviour(body=b"null"),
    Behaviour(body=b"[" * 100_000),
    Behaviour(body=b'"Paris."', headers={"Content-Type": "application/json"}),
    Behaviour(body=b"\xff\xfe\x00"),
    Behaviour(body=b"no gzip", headers={"Content-Encoding": "gzip"}),
    Behaviour(status=204),
]


def described(behaviour: Behaviour) -> str:
    return f"{behaviour.status}-{behaviour.cut}-{behaviour.reset}-{behaviour.body[-24:]!r}"


@pytest.mark.parametrize("trouble", [*BUSY, *LOST, *BROKEN, *ODD], ids=described)
def test_what_may_pass_is_asked_again(open_chat: Open, trouble: Behaviour) -> None:
    with ChatServer(trouble, trouble, ok("Paris.")) as server:
        chat = open_chat(server, retries=2)
        assert ask(chat) == "Paris."
    assert len(server.requests) == 3
    assert (chat.usage.requests, chat.usage.retries, chat.usage.no_replies) == (3, 2, 0)
    assert server.requests[0].body == server.requests[2].body


@pytest.mark.parametrize("trouble", [*BUSY, *LOST], ids=described)
def test_a_server_that_stays_busy_or_away_is_unavailable(open_chat: Open, trouble: Behaviour) -> None:
    with ChatServer(then=trouble) as server:
        chat = open_chat(server, retries=2)
        last = "no connection" if trouble.cut else f"HTTP {trouble.status}: status {trouble.status}"
        with pytest.raises(ModelUnavailable, match=rf"tiny at http://.*{last}.*\(asked 3 times\)"):
            ask(chat)
    assert len(server.requests) == 3
    assert chat.usage == ChatUsage(requests=3, retries=2)


@pytest.mark.parametrize("trouble", [*BROKEN, *ODD], ids=described)
def test_a_server_that_keeps_sending_nonsense_gives_no_reply(open_chat: Open, trouble: Behaviour) -> None:
    with ChatServer(then=trouble) as server:
        chat = open_chat(server, retries=2)
        with pytest.raises(NoReply, match=r"the (reply|answer) .*\(asked 3 times\)"):
            ask(chat)
    assert len(server.requests) == 3
    assert chat.usage.no_replies == 1


def test_all_troubles_share_one_patience(open_chat: Open) -> None:
    troubles = [status(429), broken_json(), status(500), drop_mid_body()]
    with ChatServer(*troubles, then=ok("too late")) as server, pytest.raises(NoReply, match=r"off.*\(asked 4 times\)"):
        ask(open_chat(server, retries=3))
    assert len(server.requests) == 4


def test_without_retries_it_is_asked_once(open_chat: Open) -> None:
    with ChatServer(then=status(503)) as server, pytest.raises(ModelUnavailable) as caught:
        ask(open_chat(server, retries=0))
    assert len(server.requests) == 1
    assert "times" not in str(caught.value)


@pytest.mark.parametrize("late", [slow(5, "too late"), stall_mid_body(5)], ids=["silent", "stalled"])
def test_a_server_that_takes_too_long_is_asked_again_and_then_unavailable(open_chat: Open, late: Behaviour) -> None:
    with ChatServer(late, ok("in time"), late, late) as server:
        chat = open_chat(server, timeout=0.15, retries=1)
        assert ask(chat) == "in time"
        with pytest.raises(ModelUnavailable, match=r"no answer within 0.15 seconds \(asked 2 times\)"):
            ask(chat)


def test_where_nobody_listens_the_server_is_unavailable(open_chat: Open) -> None:
    with ChatServer() as gone:
        pass
    with pytest.raises(ModelUnavailable, match=r"no connection: ConnectError.*\(asked 2 times\)"):
        ask(open_chat(gone, retries=1))


def test_a_server_that_says_not_to_ask_again_is_not_asked_again(open_chat: Open) -> None:
    final = status(429, "the quota is used up", {"x-should-retry": "false"})
    with ChatServer(then=final) as server, pytest.raises(ModelUnavailable, match="the quota is used up$"):
        ask(open_chat(server))
    assert len(server.requests) == 1


# --- waiting


@pytest.mark.parametrize("code", [429, 503])
@pytest.mark.parametrize("headers", [{"Retry-After": "0.2"}, {"Retry-After-Ms": "200", "Retry-After": "9"}])
def test_a_server_s_retry_after_is_waited_for(open_chat: Open, code: int, headers: dict[str, str]) -> None:
    with ChatServer(status(code, headers=headers)) as server:
        ask(open_chat(server, backoff=lambda _: 9.0))
    first, second = server.requests
    assert 0.2 <= second.at - first.at < 3


@pytest.mark.parametrize("asked", ["-1", "0", "soon", "nan", ""])
def test_a_retry_after_that_says_nothing_leaves_the_wait_to_the_back_off(open_chat: Open, asked: str) -> None:
    retries: list[int] = []

    def backoff(retry: int) -> float:
        retries.append(retry)
        return 0.001

    with ChatServer(*[status(429, headers={"Retry-After": asked})] * 3) as server:
        ask(open_chat(server, backoff=backoff))
    assert retries == [1, 2, 3]


def test_nobody_waits_longer_than_the_longest_wait(open_chat: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("smile_lite.chat.openai.LONGEST_WAIT", 0.01)
    with ChatServer(
        status(429, headers={"Retry-After": "86400"}), status(429, headers={"Retry-After": "inf"})
    ) as server:
        ask(open_chat(server))
    assert server.requests[2].at - server.requests[0].at < 5
    assert LONGEST_WAIT == 60


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "7"}, 7),
        ({"retry-after": "1.5"}, 1.5),
        ({"retry-after-ms": "250", "retry-after": "7"}, 0.25),
        ({"retry-after-ms": "soon", "retry-after": "7"}, 7),
        ({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}, None),
        ({"retry-after": "Wed, 99 Oct"}, None),
    ],
)
def test_a_wait_is_read_from_the_headers(headers: dict[str, str], seconds: float | None) -> None:
    assert asked_wait(headers) == seconds


def test_a_wait_may_be_a_date() -> None:
    wait = asked_wait({"retry-after": formatdate(time.time() + 30, usegmt=True)})
    assert wait is not None
    assert 25 < wait <= 30


def test_the_back_off_doubles_from_half_a_second_to_eight() -> None:
    for retry, most in enumerate((0.5, 1, 2, 4, 8, 8, 8), start=1):
        waits = [exponential(retry) for _ in range(50)]
        assert 0.75 * most <= min(waits) < max(waits) <= most
    assert exponential(5000) <= 8


def test_closing_ends_a_long_wait_at_once(open_chat: Open) -> None:
    waits = threading.Event()

    def long(_: int) -> float:
        waits.set()
        return 50.0

    with ChatServer(then=status(429)) as server, ThreadPoolExecutor(1) as pool:
        chat = open_chat(server, backoff=long)
        waiting = pool.submit(ask, chat)
        assert waits.wait(10)
        chat.close()
        with pytest.raises(ModelUnavailable, match="closed"):
            waiting.result(timeout=10)
    assert chat.usage == ChatUsage(requests=1)


def test_closing_lets_a_request_under_way_end_and_begins_no_other(open_chat: Open) -> None:
    arrived, go_on = threading.Event(), threading.Event()

    def held(request: Request) -> Behaviour:
        arrived.set()
        go_on.wait(10)
        return ok("Paris.") if request.question == "good" else status(500)

    for question in ("good", "bad"):
        with ChatServer(then=held) as server, ThreadPoolExecutor(1) as pool:
            chat = open_chat(server)
            asked = pool.submit(ask, chat, question)
            assert arrived.wait(10)
            chat.close()
            go_on.set()
            if question == "good":
                assert asked.result(timeout=10) == "Paris."
            else:
                with pytest.raises(ModelUnavailable, match="closed"):
                    asked.result(timeout=10)
        assert len(server.requests) == 1
        assert chat._client.is_closed()
        arrived.clear()
        go_on.clear()


def test_a_closed_chat_model_asks_nobody(open_chat: Open) -> None:
    with ChatServer() as server:
        with open_chat(server) as chat:
            ask(chat)
        chat.close()
        with pytest.raises(ModelUnavailable, match="closed"):
            ask(chat)
    assert len(server.requests) == 1


# --- refusals


@pytest.mark.parametrize("code", [400, 413, 422])
def test_a_refusal_of_the_content_is_no_reply_at_once(open_chat: Open, code: int) -> None:
    with ChatServer(status(code, "This model's maximum context length is 4096 tokens.")) as server:
        chat = open_chat(server)
        with pytest.raises(NoReply, match=rf"HTTP {code}: This model's maximum context length is 4096 tokens\.$"):
            ask(chat)
        assert ask(chat) == "Paris."
    assert len(server.requests) == 2
    assert chat.usage.no_replies == 1


@pytest.mark.parametrize(
    ("code", "key", "told"),
    [
        (401, KEY, "the key in OPENAI_API_KEY is not accepted"),
        (401, "", "set OPENAI_API_KEY to a key"),
        (403, KEY, "the key in OPENAI_API_KEY is not accepted"),
        (404, KEY, "it has no model tiny, or the base URL is not that of its API"),
        (402, KEY, "the request was refused"),
        (405, KEY, "the request was refused"),
    ],
)
def test_a_refusal_altogether_says_at_once_what_to_look_at(
    open_chat: Open, monkeypatch: pytest.MonkeyPatch, code: int, key: str, told: str
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", key)
    with ChatServer(then=status(code, "Not for you.")) as server, pytest.raises(ModelUnavailable) as caught:
        ask(open_chat(server))
    assert re.fullmatch(rf"tiny at {server.url}: {told}.*, HTTP {code}: Not for you\.", str(caught.value))
    assert len(server.requests) == 1


def test_a_base_url_beside_the_api_is_told(open_chat: Open) -> None:
    with ChatServer() as server, pytest.raises(ModelUnavailable, match=r"most end in /v1.*Not Found"):
        ask(open_chat(base_url=server.address))


@pytest.mark.parametrize(
    ("empty", "told"),
    [
        (no_content(reasoning_content="Let me think..."), "the model reasoned"),
        (no_content(reasoning="Let me think..."), "the model reasoned"),
        (completion([choice("", finish_reason="length")]), "finish_reason length"),
        (completion([choice(None, finish_reason="content_filter")]), "finish_reason content_filter"),
    ],
)
def test_a_reply_that_is_empty_for_a_reason_is_no_reply_at_once(open_chat: Open, empty: Behaviour, told: str) -> None:
    with ChatServer(empty) as server, pytest.raises(NoReply, match=told):
        ask(open_chat(server))
    assert len(server.requests) == 1


# --- options that a server does not know

SEED = "Unsupported parameter: 'seed' is not supported with this model."
RENAMED = "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."
GREEDY = "Unsupported value: 'temperature' does not support 0 with this model. Only the default (1) value is supported."


def strict(*, known: set[str]) -> Callable[[Request], Behaviour]:
    """A server that refuses, one by one, the options it does not know."""
    told = {"seed": SEED, "max_tokens": RENAMED, "temperature": GREEDY}

    def answer(request: Request) -> Behaviour:
        unknown = sorted(set(request.body) - {"model", "messages"} - known)
        return status(400, told[unknown[0]]) if unknown else ok("Paris.")

    return answer


def test_an_option_that_the_server_rejects_is_dropped_or_renamed_once_and_for_all(open_chat: Open) -> None:
    with ChatServer(then=strict(known={"max_completion_tokens"})) as server:
        chat = open_chat(server, retries=0)
        assert [ask(chat, max_tokens=9), ask(chat, max_tokens=9)] == ["Paris.", "Paris."]
    assert [len(request.body) - 2 for request in server.requests] == [3, 3, 2, 1, 1]
    assert server.requests[-1].body["max_completion_tokens"] == 9
    assert (chat.usage.requests, chat.usage.retries) == (5, 0)


def test_what_one_chat_model_learned_is_not_another_s(open_chat: Open) -> None:
    with ChatServer(then=strict(known={"max_tokens", "temperature"})) as server:
        ask(open_chat(server))
        ask(open_chat(server))
    assert ["seed" in request.body for request in server.requests] == [True, False, True, False]


def test_threads_that_learn_at_the_same_time_all_get_their_reply(open_chat: Open) -> None:
    with ChatServer(then=strict(known={"max_completion_tokens"})) as server, ThreadPoolExecutor(8) as pool:
        assert set(pool.map(ask, [open_chat(server, retries=0)] * 24)) == {"Paris."}


@pytest.mark.parametrize(
    ("option", "body"),
    [
        ("seed", SEED),
        (
            "seed",
            '{"detail":[{"type":"extra_forbidden","loc":["body","seed"],"msg":"Extra inputs are not permitted"}]}',
        ),
        ("seed", "Unrecognized request argument supplied: seed"),
        ("seed", 'Invalid JSON payload received. Unknown name "seed": Cannot find field.'),
        ("seed", "property 'seed' is unsupported"),
        ("seed", "Argument not supported on this model: seed"),
        ("temperature", GREEDY),
        ("max_tokens", RENAMED),
    ],
)
def test_the_usual_complaints_about_an_option_are_understood(option: str, body: str) -> None:
    complaints = {name: rejects(Answer(400, {}, body.encode()), name) for name in ("seed", "temperature", "max_tokens")}
    assert complaints == {"seed": False, "temperature": False, "max_tokens": False, option: True}
    assert not rejects(Answer(500, {}, body.encode()), option)


@pytest.mark.parametrize(
    "body",
    [
        "'max_tokens' or 'max_completion_tokens' is too large: 9000. This model's maximum length is 4096 tokens.",
        "This model's maximum context length is 4096 tokens. You requested 5000 tokens (1000 in max_tokens).",
        "The content was filtered: how to extract oil from a seed",
    ],
)
def test_other_refusals_are_not_taken_for_complaints_about_an_option(open_chat: Open, body: str) -> None:
    with ChatServer(status(400, body)) as server:
        chat = open_chat(server)
        with pytest.raises(NoReply):
            ask(chat)
        ask(chat)
    assert set(server.requests[1].body) == {"model", "messages", "max_tokens", "temperature", "seed"}


# --- the key


def chain(error: BaseException) -> str:
    """All that anybody could print of an error and of those behind it."""
    text, seen = "", [error]
    for one in seen:
        text += f"{one!s} {one!r} {one.args!r} {vars(one)!r}"
        seen += [other for other in (one.__cause__, one.__context__) if other is not None and other not in seen]
    return text


ECHOES = [
    status(401, f"Incorrect API key provided: {ECHO}"),
    status(400, f"refused: {ECHO}"),
    status(500, {"headers": {"Authorization": ECHO}}),
    status(503, f"<html>{'x' * 150} {ECHO} {ECHO}</html>".encode()),
    replace(not_json(), body=f"<p>{ECHO}".encode()),
    completion([ECHO]),
]


@pytest.mark.parametrize("echo", ECHOES, ids=described)
def test_the_key_appears_in_no_error_and_no_log_even_if_the_server_repeats_it(
    open_chat: Open, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, echo: Behaviour
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    for name in ("", "openai", *TRANSPORTS, "httpcore", "httpcore2"):
        caplog.set_level(logging.DEBUG, logger=name)
    with ChatServer(then=echo) as server:
        chat = open_chat(server, retries=1)
        with pytest.raises(ModelError) as caught:
            ask(chat)
    assert server.requests[0].headers["authorization"] == f"Bearer {KEY}"
    assert caplog.records
    for told in (chain(caught.value), caplog.text, repr(chat)):
        assert KEY not in told
        assert KEY[3:] not in told
    assert "***" in str(caught.value)


@pytest.mark.parametrize("trouble", [status(401), status(429), drop_before_reply(), drop_mid_body(), broken_json()])
def test_no_error_holds_on_to_the_request(open_chat: Open, trouble: Behaviour) -> None:
    with ChatServer(then=trouble) as server, pytest.raises(ModelError) as caught:
        ask(open_chat(server, retries=0))
    assert (caught.value.__cause__, caught.value.__context__, vars(caught.value)) == (None, None, {})


@pytest.mark.parametrize(
    "said",
    [
        f"key {KEY}.",
        f"key {KEY[:5]}\x00{KEY[5:]}",
        "key sk-test\\/0123456789+abc",
        "key sk-test%2F0123456789%2Babc",
        "Authorization: Bearer something-else",
        "http://user:0123456789+abc@proxy refused",
        f"{'x' * 190}{KEY}",
    ],
)
def test_a_quotation_holds_no_form_of_the_key(said: str) -> None:
    quoted = quoter(KEY)(said)
    assert "***" in quoted
    assert "0123456789" not in quoted
    assert "something-else" not in quoted


def test_a_quotation_is_one_short_printable_line() -> None:
    quoted = quoter("")("a\r\nb\x1b[31m\u2028c " + "d" * 1000)
    assert quoted.startswith("a b[31m c dd")
    assert len(quoted) == 200
    assert quoted.endswith("...")


# --- many at once


def test_threads_get_each_their_own_reply_over_one_pool_of_connections(open_chat: Open) -> None:
    questions = [f"question {number}" for number in range(48)]
    with ChatServer(then=lambda request: slow(0.01, f"reply to {request.question}")) as server:
        chat = open_chat(server, concurrency=8)
        with ThreadPoolExecutor(8) as pool:
            assert list(pool.map(lambda one: ask(chat, one), questions)) == [f"reply to {one}" for one in questions]
    assert 1 < server.most_at_once <= 8
    assert server.connections <= 8
    assert chat.usage == ChatUsage(requests=48, prompt_tokens=48 * 7, completion_tokens=48 * 3)


def test_more_threads_than_the_pool_has_connections_wait_their_turn(open_chat: Open) -> None:
    with ChatServer(then=slow(0.01, "Paris.")) as server, ThreadPoolExecutor(8) as pool:
        assert set(pool.map(ask, [open_chat(server, concurrency=2)] * 16)) == {"Paris."}
    assert server.most_at_once <= 2


def test_counters_lose_nothing_among_threads_that_fail_and_ask_again(open_chat: Open) -> None:
    seen: set[str] = set()
    lock = threading.Lock()

    def fails_first(request: Request) -> Behaviour:
        with lock:
            first = request.question not in seen
            seen.add(request.question)
        return status(429, headers={"Retry-After-Ms": "1"}) if first else ok("Paris.")

    interval = sys.getswitchinterval()
    with ChatServer(then=fails_first) as server, ThreadPoolExecutor(8) as pool:
        chat = open_chat(server)
        sys.setswitchinterval(1e-6)  # so that threads get in each other's way
        list(pool.map(lambda number: ask(chat, str(number)), range(40)))
        sys.setswitchinterval(interval)
    assert (chat.usage.requests, chat.usage.retries, chat.usage.prompt_tokens) == (80, 40, 40 * 7)


@pytest.mark.parametrize("usage", [None, "many", {"prompt_tokens": None, "completion_tokens": "3"}])
def test_a_server_that_does_not_count_tokens_is_no_trouble(open_chat: Open, usage: object) -> None:
    body = {**json.loads(ok("Paris.").body), "usage": usage}
    with ChatServer(replace(ok(""), body=json.dumps(body).encode())) as server:
        chat = open_chat(server)
        assert ask(chat) == "Paris."
    assert chat.usage == ChatUsage(requests=1)
