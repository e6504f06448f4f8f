import { expect } from "chai";
import { isFromSlack } from "#src/http/hooks/slack/signature.ts";

/** The example in Slack's documentation of its signatures. */
const example = {
  secret: "8f742231b10e8888abcd99yyyzzz85a5",
  timestamp: "1531420618",
  signature: "v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503",
  body: "token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow&channel_id=G8PSS9T3V&channel_name=foobar&user_id=U2CERLKJA&user_name=roadrunner&command=%2Fwebhook-collect&text=&response_url=https%3A%2F%2Fhooks.slack.com%2Fcommands%2FT1DC2JH3J%2F397700885554%2F96rGlfmibIGlgcZRskXaIFfN&trigger_id=398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c",
};

describe("signatures of Slack", () => {
  const at = Number(example.timestamp) * 1000;
  const call = (more: Partial<typeof example> = {}, nowMs = at) => {
    const { secret, body, ...headers } = { ...example, ...more };
    return isFromSlack({ ...headers, body: Buffer.from(body) }, secret, nowMs);
  };

  it("the signature in Slack's own example is valid for five minutes before and after", () => {
    expect(call()).to.equal(true);
    for (const seconds of [-300, 300]) expect(call({}, at + seconds * 1000)).to.equal(true);
    for (const seconds of [-301, 301]) expect(call({}, at + seconds * 1000)).to.equal(false);
  });

  it("a call with a changed secret, time, body or signature is not from Slack", () => {
    for (const more of [
      { secret: "8f742231b10e8888abcd99yyyzzz85a6" },
      { timestamp: "1531420619" },
      { body: `${example.body}&` },
      { signature: example.signature.replace("v0=", "v1=") },
      { signature: example.signature.slice(0, -1) },
      { signature: `${example.signature}0` },
      { signature: "" },
      { timestamp: "" },
      { timestamp: "1531420618abc" },
    ]) {
      expect(call(more), JSON.stringify(more)).to.equal(false);
    }
  });
});
