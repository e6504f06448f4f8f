import { expect } from "chai";
import { documentText } from "#src/http/docs/documents.ts";
import { sourceFiles, textOf } from "#test/support/imports.ts";

const call = /\blog(?:ger)?\??\.(fatal|error|warn|info)(?:\?\.)?(?=\()/g;

/** The arguments of a call whose last one is a message, or one of two messages. */
const endsWithMessage = /\((?:[^;]*?,)?\s*(?:[^,;"]+\?\s*"([^"]+)"\s*:\s*)?"([^"]+)",?\s*\)/y;

/** Files whose logger is called with a message from elsewhere, and the function that is called with it. */
const wrappers: Record<string, { file: string; name: string }> = {
  "src/http/index.ts": { file: "src/http/index.ts", name: "warn" },
  "src/http/hooks/sendGrid/events.ts": { file: "src/http/hooks/sendGrid/events.ts", name: "warn" },
  "src/http/hooks/sendGrid/inbound.ts": { file: "src/http/hooks/sendGrid/inbound.ts", name: "tell" },
};

function messagesAt(source: string, index: number): string[] {
  endsWithMessage.lastIndex = index;
  return (endsWithMessage.exec(source)?.slice(1) ?? []).filter((message) => message !== undefined);
}

/** The messages that a function of this file is called with. */
function messagesOf({ file, name }: { file: string; name: string }): string[] {
  const source = textOf(file);
  return [...source.matchAll(new RegExp(`\\b${name}(?=\\()`, "g"))].flatMap(({ index }) =>
    messagesAt(source, index + name.length),
  );
}

/** Every line that the sources log from level info on, as `level: message`. */
function loggedLines(): string[] {
  const lines = sourceFiles("src", "projections", "streams").flatMap((file) => {
    const source = textOf(file);
    return [...source.matchAll(call)].flatMap(({ 0: callee, 1: level, index }) => {
      const here = messagesAt(source, index + callee.length);
      const wrapper = wrappers[file];
      const messages = here.length === 0 && wrapper ? messagesOf(wrapper) : here;
      expect(messages, `${file}: a message of the log that is not read`).not.to.deep.equal([]);
      return messages.map((message) => `${level}: ${message}`);
    });
  });
  const failed = /customErrorMessage: \(\) => "([^"]+)"/.exec(textOf("src/http/framework/logging.ts"))?.[1];
  return [...new Set([...lines, `warn: ${failed}`])].sort();
}

describe("the page of log lines", () => {
  it("the page of log lines has a row for every line that the service logs, and no other", () => {
    const rows = [...documentText("log-lines").matchAll(/^\| (fatal|error|warn|info) \| (`+)(.+?)\2 \| \S/gm)];
    const described = rows.map(([, level, , message]) => `${level}: ${message}`);
    const logged = loggedLines();
    expect(logged.length).to.be.above(100);
    expect(described.sort()).to.deep.equal(logged);
  });
});
