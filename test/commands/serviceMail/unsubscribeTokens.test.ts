import { expect } from "chai";
import { readUnsubscribeToken, unsubscribeToken } from "#src/commands/serviceMail/unsubscribeTokens.ts";
import { createKeyRing, newRingKey } from "#src/platform/secrets/keyRing.ts";
import { fold } from "#streams/decider.ts";
import { serviceMailDecider } from "#streams/serviceMail/decider.ts";
import { given } from "#test/support/given.ts";

const mail = { workspaceId: "11111111-1111-7111-8111-111111111111", address: "ann@approvers.example" };
const said = { ...mail, series: 0, expiresAt: 1_800_000_000 };

describe("the link that stops mail", () => {
  const [old, young] = [newRingKey("k1"), newRingKey("k2")];
  const ring = createKeyRing(old);

  it("a stop link is for one workspace and one address, and outlives a new first key", () => {
    const token = unsubscribeToken(ring, said);
    expect(readUnsubscribeToken(ring, token)).to.deep.equal(said);
    expect(readUnsubscribeToken(createKeyRing(`${young},${old}`), token)).to.deep.equal(said);
    expect(readUnsubscribeToken(createKeyRing(young), token), "its key is gone").to.equal(undefined);
    // The token fits into a URL's path without escaping.
    expect(token).to.match(/^[\w.-]+$/);
  });

  it("a stop link cannot be made without the key: every altered one is invalid", () => {
    const token = unsubscribeToken(ring, said);
    const [words, mark] = token.split(".") as [string, string];
    const { workspaceId, address, series, expiresAt } = said;
    const others = [
      [workspaceId, "bob@approvers.example", series, expiresAt],
      [workspaceId, address, series + 1, expiresAt],
      [workspaceId, address, series, expiresAt + 1],
    ].map((each) => Buffer.from(JSON.stringify(each)).toString("base64url"));
    const theirs = unsubscribeToken(createKeyRing(young), { ...said, address: "bob@approvers.example" });
    const altered = [
      ...[...token].map((letter, at) => `${token.slice(0, at)}${letter === "A" ? "B" : "A"}${token.slice(at + 1)}`),
      ...others.map((each) => `${each}.${mark}`),
      theirs,
      words,
      `${words}.`,
      `.${mark}`,
      `${token}.`,
      "",
    ];
    for (const each of altered) expect(readUnsubscribeToken(ring, each), each).to.equal(undefined);
  });
});

describe("stopped service mail", () => {
  const stop = { type: "StopServiceMail", ...mail } as const;
  const resume = { type: "ResumeServiceMail", ...mail } as const;
  const stopped = { type: "ServiceMailStopped", data: mail } as const;
  const resumed = { type: "ServiceMailResumed", data: mail } as const;

  it("service mail is stopped once and resumed once", () => {
    given(serviceMailDecider).when(stop).then(stopped);
    given(serviceMailDecider).when(resume).then();
    given(serviceMailDecider, stopped).when(stop).then();
    given(serviceMailDecider, stopped).when(resume).then(resumed);
    given(serviceMailDecider, stopped, resumed).when(stop).then(stopped);
  });

  it("a leaked stop link of the newest series closes the series once, and the mail stays stopped", () => {
    const close = (series: number) => ({ type: "CloseStopLinks", ...mail, series }) as const;
    const closed = { type: "StopLinksClosed", data: { ...mail, because: "link_leaked" } } as const;
    given(serviceMailDecider, stopped).when(close(0)).then(closed);
    given(serviceMailDecider, closed).when(close(0)).then();
    given(serviceMailDecider, closed).when(close(1)).then(closed);
    expect(fold(serviceMailDecider, [stopped, closed])).to.include({ stopped: true, series: 1 });
  });

  it("a new stop link is mailed at most once in an hour", () => {
    const request = (at: string) => ({ type: "RequestStopLink", ...mail, at }) as const;
    const requested = (at: string) => ({ type: "StopLinkRequested", data: { ...mail, at } }) as const;
    const [first, soon, later] = ["2026-01-01T12:00:00.000Z", "2026-01-01T12:59:59.999Z", "2026-01-01T13:00:00.000Z"];
    given(serviceMailDecider).when(request(first)).then(requested(first));
    given(serviceMailDecider, requested(first)).when(request(soon)).then();
    given(serviceMailDecider, requested(first)).when(request(later)).then(requested(later));
  });
});
