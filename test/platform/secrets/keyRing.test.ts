import { expect } from "chai";
import { CannotOpen, createKeyRing, newRingKey } from "#src/platform/secrets/keyRing.ts";
import { isMaskOf, mask } from "#src/platform/secrets/mask.ts";

const owner = { workspaceId: "w1", field: "identity.approvalChannel.botToken" };
const [first, second] = [newRingKey("k1"), newRingKey("k2")];

describe("the key ring", () => {
  it("the key ring opens what it sealed, and seals the same text differently each time", () => {
    const ring = createKeyRing(first);
    const [one, two] = [ring.seal("tökén", owner), ring.seal("tökén", owner)];
    expect(one).to.match(/^k1\.[\w-]{16}\.[\w-]+\.[\w-]{22}$/);
    expect(one).not.to.equal(two);
    expect([one, two].map((sealed) => ring.open(sealed, owner))).to.deep.equal(["tökén", "tökén"]);
    expect(ring.open(ring.seal("", owner), owner)).to.equal("");
  });

  it("a sealed text opens for no other workspace or field, however the two are joined", () => {
    const ring = createKeyRing(first);
    const sealed = ring.seal("token", { workspaceId: "ab", field: "c" });
    for (const other of [
      { workspaceId: "a", field: "bc" },
      { workspaceId: "ab", field: "d" },
      { workspaceId: 'ab","c', field: "" },
    ])
      expect(() => ring.open(sealed, other)).to.throw(CannotOpen);
  });

  it("a text that was altered, cut short or sealed under another key does not open", () => {
    const ring = createKeyRing(first);
    const sealed = ring.seal("token", owner);
    const last = sealed.split(".").length - 1;
    const flipped = sealed.split(".").map((part, n, parts) => {
      const other = n === 0 ? "k9" : `${part.startsWith("A") ? "B" : "A"}${part.slice(1)}`;
      return parts.map((each, m) => (m === n ? other : each)).join(".");
    });
    const cut = sealed
      .split(".")
      .map((part, n) => (n === last ? part.slice(0, 6) : part))
      .join(".");
    const foreign = createKeyRing(newRingKey("k1")).seal("token", owner);
    for (const bad of [...flipped, cut, foreign, "", "k1", "k1...", `${sealed}.x`])
      expect(() => ring.open(bad, owner), bad).to.throw(CannotOpen);
  });

  it("the key ring seals under the new key after a rotation and opens texts of the old", () => {
    const before = createKeyRing(first);
    const after = createKeyRing(`${second},${first}`);
    expect(after.open(before.seal("token", owner), owner)).to.equal("token");
    expect(after.seal("token", owner)).to.match(/^k2\./);
    expect(() => before.open(after.seal("token", owner), owner)).to.throw(CannotOpen);
    expect(after.deriveKeys("message-ids")[1]).to.deep.equal(before.deriveKey("message-ids"));
  });

  it("the key ring derives another key for another purpose, and the same for the same", () => {
    const ring = createKeyRing(first);
    expect(ring.deriveKey("a")).to.have.length(32);
    expect(ring.deriveKey("a")).to.deep.equal(createKeyRing(first).deriveKey("a"));
    expect(ring.deriveKey("a")).not.to.deep.equal(ring.deriveKey("b"));
    expect(ring.deriveKey("a")).to.deep.equal(ring.deriveKeys("a")[0]);
  });

  it("an unreadable key ring is refused, without repeating a key", () => {
    const secret = first.split(":")[1]!;
    for (const bad of ["", "k1", "k1:", "k1:c2hvcnQ=", `${first},`, `${first},k1:${secret}`, `bad kid:${secret}`])
      expect(() => createKeyRing(bad), bad).to.throw(new RegExp(`^(?!.*${secret.slice(0, 20).replace(/\+/g, "\\+")})`));
  });
});

describe("a shown secret", () => {
  it("a shown secret is four stars and its last four characters", () => {
    expect(mask("123456:ABC-secret")).to.equal("****cret");
    expect([mask("abcd"), mask("")]).to.deep.equal(["****", "****"]);
    expect([isMaskOf("****cret", "123456:ABC-secret"), isMaskOf("****xret", "123456:ABC-secret")]).to.deep.equal([
      true,
      false,
    ]);
  });
});
