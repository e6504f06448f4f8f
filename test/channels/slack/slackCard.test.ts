import { readFileSync } from "node:fs";
import { expect } from "chai";
import type { ApprovalView } from "#src/channels/approvalView.ts";
import { reviewCard } from "#src/channels/card/reviewCard.ts";
import { chunks, escaped } from "#src/channels/slack/blocks.ts";
import { concludedMessage, type Deciding, slackMessages } from "#src/channels/slack/slackCard.ts";
import { decidingIn } from "#src/channels/slack/slackChannel.ts";
import { attack, changed, newer, ordinary, withHtml } from "#test/channels/email/examples.ts";
import { buttonsOf } from "#test/support/slack/slack.ts";

const links = { approve: "https://c.example/a/AAA?d=approve", reject: "https://c.example/a/RRR?d=reject" };
const tokens = { approve: "AAA", reject: "RRR" };
const render = (view: ApprovalView, deciding: Deciding = "pressed") =>
  slackMessages(reviewCard(view), { links, tokens, deciding });
/** The text as Slack shows it, except for the links. */
const readable = (text: string): string =>
  text.replaceAll("\u200c", "").replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll("&amp;", "&");
const shownIn = (messages: ReturnType<typeof render>): string => messages.map(({ text }) => text).join("\n");

describe("the card in Slack", () => {
  it("the Slack card asks, shows the draft and the answered message, and ends with buttons, in blocks and in text", () => {
    const [message, ...others] = render({ ...ordinary, newerMessage: newer });
    expect(others).to.deep.equal([]);
    const { text, blocks } = message!;
    expect(blocks[0]).to.deep.include({ type: "header" });
    for (const words of ["Send this reply?", "torn cover", "Marta Lind", "the money back", "Our policy replaces"]) {
      expect(text.toLowerCase()).to.contain(words.toLowerCase());
      expect(JSON.stringify(blocks).toLowerCase()).to.contain(words.toLowerCase());
    }
    expect(text).to.contain("<https://c.example/a/AAA?d=approve|Approve &amp; send>");
    expect(message).to.include({ unfurl_links: false, unfurl_media: false, parse: "none", link_names: false });
    expect(blocks.at(-2)).to.include({ type: "actions" });
  });

  it("the Slack card is the one in src/channels/slack/card.md", () => {
    const page = readFileSync(new URL("../../../src/channels/slack/card.md", import.meta.url), "utf8");
    const [{ text } = { text: "" }] = render(ordinary);
    expect(page).to.contain(`\`\`\`\n${readable(text)}\n\`\`\``);
    const ended = concludedMessage({
      sentence: "Approved by “ada”, 20 Nov 2026, 09:30 UTC. It goes to marta.lind@posten.example.",
      threadSubject: ordinary.threadSubject,
    });
    expect(page).to.contain(`\`\`\`\n${readable(ended.text)}\n\`\`\``);
  });

  it("the Slack card has buttons with tokens where presses can be proven, and otherwise only links", () => {
    const of = (deciding: Deciding) =>
      buttonsOf(render(ordinary, deciding)[0]!).map(({ action_id, value, url }) => [action_id, value, url]);
    const page = ["review_page", "AAA", links.approve];
    const changesForm = `${links.approve}#changes-form`;
    expect(of("pressed")).to.deep.equal([
      ["approve", "AAA", undefined],
      ["request_changes", "RRR", undefined],
      ["reject", "RRR", undefined],
      page,
    ]);
    expect(of("approved")).to.deep.equal([
      ["approve", "AAA", undefined],
      ["request_changes_page", "RRR", changesForm],
      ["reject_page", "RRR", links.reject],
      page,
    ]);
    expect(of("linked")).to.deep.equal([
      ["approve_page", undefined, links.approve],
      ["request_changes_page", undefined, changesForm],
      ["reject_page", undefined, links.reject],
    ]);
    const linked = JSON.stringify(render(ordinary, "linked")[0]!.blocks);
    expect(linked).to.contain(`<${links.approve}|Approve &amp; send>`);
    const cases: [Record<string, string>, string | undefined, Deciding][] = [
      [{}, undefined, "linked"],
      [{}, "service", "approved"],
      [{ bot_token: "xoxb" }, "service", "pressed"],
      [{ bot_token: "xoxb" }, undefined, "linked"],
      [{ signing_secret: "own" }, undefined, "approved"],
      // The identity's own secret can no longer be decrypted, and the service's belongs to another app.
      [{ signing_secret: "" }, "service", "linked"],
    ];
    for (const [config, own, expected] of cases)
      expect(decidingIn(config, own), JSON.stringify(config)).to.equal(expected);
  });

  it("the Slack card makes no mention, link or markup of others' text and puts a bar before each of its lines", () => {
    const words = `<!channel> <@U123> <https://evil.example|Approve> @here @channel [a](https://evil.example) &lt;\n${attack}\n*Your decision*`;
    const hostile: ApprovalView = {
      ...ordinary,
      threadSubject: words,
      rationale: words,
      content: { ...ordinary.content, subject: words, body_text: words, from: { name: words, address: "a@b.example" } },
      answers: { ...ordinary.answers!, fromName: words, subject: words, newText: words },
      warnings: [{ kind: "message_note", sentence: words }],
      hints: [{ kind: "addresses_agent", sentence: words }],
    };
    for (const { text, blocks } of [...render(hostile), ...render(hostile, "linked")]) {
      const own = [links.approve, links.reject].flatMap((url) => [`<${url}|Approve &amp; send>`, `<${url}|Reject>`]);
      const without = (shown: string) => own.reduce((rest, link) => rest.replaceAll(link, ""), shown);
      const sections = blocks.flatMap((block) =>
        block.type === "section" || block.type === "header" ? [block.text] : [],
      );
      for (const shown of [text, ...sections.map((section) => section.text)]) {
        expect(without(shown)).not.to.match(/[<>]|@(here|channel)|\]\(|:\/\/evil|evil\.example/);
      }
      // Only the service's own words have markup.
      for (const { text: marked } of sections.filter(({ type }) => type === "mrkdwn")) {
        expect(without(marked)).not.to.contain("channel");
      }
      expect(text.split("\n").filter((line) => line.startsWith("*Your decision*"))).to.deep.equal([]);
    }
  });

  it("the Slack card stays within Slack's limits for long drafts and says what is left out", () => {
    const long = [
      "ä".repeat(100_000),
      "<&>".repeat(30_000),
      "a\n".repeat(50_000),
      `${"word ".repeat(20_000)}`,
      "😀".repeat(40_000),
    ];
    for (const body of long) {
      const view = {
        ...changed,
        rationale: body,
        content: {
          ...changed.content,
          body_text: body,
          cc: Array.from({ length: 50 }, (_, n) => `${"c".repeat(60)}${n}@x.example`),
        },
        answers: { ...ordinary.answers!, newText: body },
      };
      const messages = render(view);
      expect(messages.length).to.be.within(2, 9);
      for (const { text, blocks } of messages) {
        expect(blocks.length).to.be.within(1, 50);
        expect(text.length).to.be.below(40_000);
        for (const block of blocks) {
          if (block.type === "section") expect(block.text.text.length).to.be.within(1, 3_000);
          if (block.type === "header") expect(block.text.text.length).to.be.within(1, 150);
        }
        // No character and no escape sequence is cut in two.
        expect(JSON.stringify(blocks).replace(/&(amp|lt|gt);/g, "")).not.to.match(/&(?! send)|\\ud[89a-f]/i);
      }
      expect(messages.map((message) => buttonsOf(message).length > 0)).to.deep.equal([
        ...messages.slice(1).map(() => false),
        true,
      ]);
      expect(shownIn(messages)).to.match(/more characters; see the review page/);
    }
  });

  it("the Slack card shows a letter of 10,000 characters whole", () => {
    const body = Array.from({ length: 200 }, (_, n) => `Line ${n} of a letter that is rather long, all in all.`).join(
      "\n",
    );
    const shown = shownIn(render({ ...ordinary, content: { ...ordinary.content, body_text: body } }));
    for (const line of body.split("\n")) expect(shown).to.contain(`| ${line}`);
    expect(shown).not.to.contain("more characters");
  });

  it("the Slack card shows changes, files and hidden recipients", () => {
    const shown = shownIn([...render(changed), ...render(withHtml)]);
    for (const words of [
      "WHAT CHANGED SINCE VERSION",
      "Bcc (hidden): archive",
      "label",
      "It is called a PDF and can run code",
    ]) {
      expect(shown).to.contain(words);
    }
  });

  it("the concluded Slack card says how the question ended and has no buttons", () => {
    const { text, blocks } = concludedMessage({
      sentence: "Approved by “<!here>”.",
      threadSubject: `a ${attack} ${"x".repeat(900)}`,
    });
    expect(text).to.contain("Approved by “&lt;!here&gt;”.");
    expect(JSON.stringify(blocks)).to.contain("&lt;!here&gt;");
    expect(buttonsOf({ blocks })).to.deep.equal([]);
  });

  it("chunks cuts a text into parts within the limit that lose nothing of it", () => {
    for (const text of [
      "a".repeat(7_000),
      "ab cd\n".repeat(2_000),
      "&".repeat(3_000),
      "😀".repeat(2_000),
      "\n\n\n",
      "",
    ]) {
      const parts = chunks(text, 1_000);
      for (const part of parts) expect(escaped(part).length).to.be.within(1, 1_000);
      expect(parts.join("").replace(/\s/g, "")).to.equal(text.replace(/\s/g, ""));
    }
  });
});
