import { Writable } from "node:stream";
import { expect } from "chai";
import { createLogger, readable } from "#src/platform/logger.ts";

describe("the logger", () => {
  function logged(write: (logger: ReturnType<typeof createLogger>) => void): string {
    let text = "";
    const destination = {
      write(line: string) {
        text += line;
      },
    };
    write(createLogger("debug", destination));
    return text;
  }
  const apiKey = `svc_live_${"aB3".repeat(10)}xy`;
  const token = "q".repeat(43);
  /** An access token, as a cloud's database accepts it in place of a password. */
  const accessToken = "eyJ0".repeat(600);

  const secrets: Record<string, string> = {
    "an API key": apiKey,
    "a webhook secret": "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
    "the token of an approval page": token,
    "a Telegram bot token": "123456789:AAExampleExampleExampleExampleExample",
    "a password in a URL": "hunter2",
    "a long password in a URL": accessToken.slice(-40),
    "the password of a URL behind another": "hunter3",
    "the password of a user with a long name": "hunter4",
    "a SendGrid key": "SG.abcdefghijk.lmnopqrstuvw",
  };
  const sentence = [
    apiKey,
    "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
    `http://localhost:8080/a/${token}?x=1`,
    "https://api.telegram.org/bot123456789:AAExampleExampleExampleExampleExample/sendMessage",
    "postgres://user:hunter2@db.example/d",
    `postgres://user:${accessToken}@db.example/d`,
    "see=http://a.example/b,smtp+tls://user:hunter3@mail.example",
    `amqp://${"u".repeat(600)}:hunter4@db.example/d`,
    "SG.abcdefghijk.lmnopqrstuvw",
  ].join(" and ");

  for (const [name, secret] of Object.entries(secrets)) {
    it(`the logger never shows ${name}, wherever it occurs`, () => {
      const text = logged((logger) => {
        logger.info(sentence);
        logger.info({ deep: { deeper: [sentence] } }, "fields");
        logger.error({ err: new Error("outer", { cause: new Error(sentence) }) }, "errors");
      });
      expect(text.split("\n").filter(Boolean)).to.have.length(3);
      expect(text).not.to.include(secret);
    });
  }

  it("the logger never shows fields named as credentials or bodies of mail", () => {
    const text = logged((logger) => {
      logger.info({
        headers: { authorization: "Basic canary1" },
        draft: { body_text: "canary2" },
        password: "canary3",
      });
      logger.info("Authorization: Bearer canary4");
    });
    expect(text).not.to.match(/canary\d/);
  });

  it("the logger shows what was wrong in a database error, and not the row", () => {
    const error = Object.assign(new Error("duplicate key"), { code: "23505", detail: "Key (subject)=(canary)" });
    const text = logged((logger) => logger.error({ err: error }, "failed"));
    expect(text).to.include("23505").and.to.include("duplicate key").and.not.to.include("canary");
  });

  it("the logger writes the level by its name and the time in ISO 8601", () => {
    const line = JSON.parse(logged((logger) => logger.warn({ draft: "d1" }, "a sentence")));
    expect(line).to.deep.include({ level: "warn", msg: "a sentence", draft: "d1" });
    expect(line.time).to.match(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
  });

  it("the logger writes one readable line each for a terminal, with the same secrets left out", () => {
    let text = "";
    const terminal = new Writable({
      write(chunk, _encoding, done) {
        text += chunk;
        done();
      },
    });
    const logger = createLogger("debug", readable(terminal));
    logger.info({ url: "http://localhost:8080", api_key: apiKey }, "ready");
    logger.info({ api_key: apiKey, created: 16 }, "it works");
    logger.info(sentence);
    const lines = text.trimEnd().split("\n");
    expect(lines).to.have.length(3);
    expect(lines[0])
      .to.match(/^\[\d\d:\d\d:\d\d\] INFO: ready /)
      .and.to.include(apiKey);
    expect(lines[1])
      .to.match(/INFO: it works .*"created":16/)
      .and.not.to.include(apiKey);
    for (const secret of Object.values(secrets)) expect(lines[2]).not.to.include(secret);
  });

  it("the logger shows the first API key in the ready line alone", () => {
    expect(JSON.parse(logged((logger) => logger.info({ api_key: apiKey }, "ready"))).api_key).to.equal(apiKey);
    const speaking = logged((logger) => logger.info({ api_key: apiKey, text: '"msg":"ready"}' }, 'not "msg":"ready"}'));
    expect(speaking).not.to.include(apiKey);
  });
});
