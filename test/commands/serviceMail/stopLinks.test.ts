import { expect } from "chai";
import { readStopToken, stopToken } from "#src/commands/serviceMail/stopLinks.ts";
import { createKeyRing, newRingKey } from "#src/secrets/keyRing.ts";
import { serviceMailDecider } from "#streams/serviceMail/decider.ts";
import { given } from "#test/support/given.ts";

const mail = { workspaceId: "11111111-1111-7111-8111-111111111111", address: "ann@approvers.example" };

describe("the link that stops mail", () => {
  const [old, young] = [newRingKey("k1"), newRingKey("k2")];
  const ring = createKeyRing(old);

  it("is for one workspace and one address, and outlives a new first key", () => {
    const token = stopToken(ring, mail);
    expect(readStopToken(ring, token)).to.deep.equal(mail);
    expect(readStopToken(createKeyRing(`${young},${old}`), token)).to.deep.equal(mail);
    expect(readStopToken(createKeyRing(young), token), "its key is gone").to.equal(undefined);
    // In the path of a URL without being escaped.
    expect(token).to.match(/^[\w.-]+$/);
  });

  it("cannot be made without the key: every altered one is none", () => {
    const token = stopToken(ring, mail);
    const [said, mark] = token.split(".") as [string, string];
    const others = Buffer.from(JSON.stringify([mail.workspaceId, "bob@approvers.example"])).toString("base64url");
    const theirs = stopToken(createKeyRing(young), { ...mail, address: "bob@approvers.example" });
    const altered = [
      ...[...token].map((letter, at) => `${token.slice(0, at)}${letter === "A" ? "B" : "A"}${token.slice(at + 1)}`),
      `${others}.${mark}`,
      theirs,
      said,
      `${said}.`,
      `.${mark}`,
      `${token}.`,
      "",
    ];
    for (const each of altered) expect(readStopToken(ring, each), each).to.equal(undefined);
  });
});

describe("mail that was stopped", () => {
  const stop = { type: "StopServiceMail", ...mail } as const;
  const resume = { type: "ResumeServiceMail", ...mail } as const;
  const stopped = { type: "ServiceMailStopped", data: mail } as const;
  const resumed = { type: "ServiceMailResumed", data: mail } as const;

  it("is stopped once, and comes again once", () => {
    given(serviceMailDecider).when(stop).then(stopped);
    given(serviceMailDecider).when(resume).then();
    given(serviceMailDecider, stopped).when(stop).then();
    given(serviceMailDecider, stopped).when(resume).then(resumed);
    given(serviceMailDecider, stopped, resumed).when(stop).then(stopped);
  });
});
