import { expect } from "chai";
import { endingsOf, trickIn } from "#src/channels/attachments/fileNames.ts";
import { earlierText } from "#src/channels/card/earlierTexts.ts";
import { foldQuotations } from "#src/channels/card/quotes.ts";
import { hintsAbout } from "#src/channels/hints/hints.ts";
import { chunks } from "#src/channels/slack/blocks.ts";
import { shortLine } from "#src/html/visible.ts";
import { shownText } from "#src/http/mcp/texts/letter.ts";
import { attachmentNamed } from "#src/http/present/files.ts";
import { createLogger } from "#src/platform/logger.ts";
import { processorMs } from "#test/support/processorTime.ts";

/** Characters: a pattern that starts again at each of them takes many seconds; a mail may have more. */
const length = 60_000;
const mostMs = 1_500;

const pieces = [
  ...[
    " ",
    "\t",
    "\n",
    "\r\n",
    "a",
    "é",
    "1",
    "+",
    "-",
    ".",
    "@",
    ":",
    "/",
    "<",
    ">",
    '"',
    "(",
    "[",
    "*",
    "|",
    "\u200b",
    "\u{e0041}",
  ],
  ...["a ", "a+", "a.", "a@", "a://", "a:", "> ", ">\n", "-- \n", "\n ", " \n", "https://a", "hooks/", "aa  "],
];
const texts = pieces.map((piece) => ({ piece, text: `a${piece.repeat(Math.floor(length / piece.length))}x` }));

const silent = createLogger("info", { write() {} });
const hidden = (text: string) => `<p>Hello</p><div style="display:none">${text.replaceAll("<", "&lt;")}</div>`;

/** The work that the main thread does with others' texts. */
const readers: Record<string, (text: string) => unknown> = {
  "looks for hints in a mail's text": (text) => hintsAbout({ subject: "", newText: text, text, html: null }),
  "looks for hints in a mail's HTML": (text) =>
    hintsAbout({ subject: "", newText: "Hello", text: "Hello", html: `<p>${text}</p>` }),
  "looks for hints in what a mail hides": (text) =>
    hintsAbout({ subject: "", newText: "Hello", text: "Hello", html: hidden(text) }),
  "parts what is new in a mail from what it quotes": (text) => foldQuotations(`a\n${text}`, [earlierText(text)]),
  "finds the ending of a name in an archive": (name) => endingsOf(name),
  "names a download": (name) => attachmentNamed(name),
  "shows the beginning of a text in one line": (text) => shortLine(text.repeat(9), 300),
  "looks for what a name hides": (name) => trickIn(name),
  "shows a mail to an assistant": (text) => shownText(text),
  "parts a text for a chat": (text) => chunks(text, 3_000),
  "writes a line of the log": (url) => silent.info({ url }, "request"),
};

describe("long texts that repeat one piece", () => {
  for (const [does, read] of Object.entries(readers))
    it(`a long text that repeats one piece takes bounded time for code that ${does}`, () => {
      for (const { piece, text } of texts)
        expect(
          processorMs(() => read(text)),
          JSON.stringify(piece),
        ).to.be.lessThan(mostMs);
    });
});
