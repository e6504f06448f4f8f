import { expect } from "chai";
import { readCheckpoint, writeCheckpoint } from "#src/audit/checkpoint.ts";
import { noteSigner, readVerifierKey, signNote, splitNote } from "#src/audit/signedNote.ts";
import { openNote, readProof } from "#test/support/auditReading.ts";

/** A key that Go's module sumdb/note is tested with, and its seed. */
const goKey = "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW";
const goSeed = Buffer.from("AYEKFALVFGyNhPJEMzD1QIDr+Y7hfZx09iUvxdXHKDFz", "base64").subarray(1);

/** Figures of the examples of C2SP signed-note and tlog-checkpoint: the documents have no keys to them. */
const text = "A text\n\nthat has an empty line.\n";
const signatureLine = "NnugSzTjtVAewIS+Z/iJhUPeFDkO/5QQ2i5ddnGITLlC+EhfLW9oJKONrMouFSQU0xMcXxj99ihAQwaqP3ZekRwNtIc=";
const sofa = "example.com/behind-the-sofa";
const sofaText = `${sofa}\n20852163\nCsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=\n`;
const sofaNote = `${sofaText}\n— ${sofa} Az3grlgtzPICa5OS8npVmf1Myq/5IZniMp+ZJurmRDeOoRDe4URYN7u5/Zhcyv2q1gGzGku9nTo+zyWE+xeMcTOAYQ8=\n`;

/** The numbers and hashes of the example of C2SP tlog-proof, whose signatures are cut short. */
const fancyHashes = [
  "gSKyXoYZUgZ6jduWYrkDOARinOMGJveXjgMkBTcdPlQ=",
  "B95lDa8R83lS8n0eG+o0buTxRKQTYFi//1U8anccXmA=",
  "EKNzoDWG8LGC0Yp9o+sv3qllpMP9uHQ9B20KNL+Q1zs=",
  "RoopEkOdqkYqMB4MJXrbt/hMjOxsVn0IrWjpz1ZMMes=",
  "AHCioX9nLjsrse6YhjRRmk1WUEirVOLLRoOQ6vfO5vk=",
];
const fancyHead = "example.com/fancylog\n109482\nsFodV/vSp5O8n9a8QpW6PRY97tfOSW5bsc2Xl/EQi08=\n";

describe("audit: notes that others have published", () => {
  it("the key of Go's sumdb has the same id and the same verifier key", () => {
    const signer = noteSigner("PeterNeumann", goSeed);
    expect(signer.verifierKey).to.equal(goKey);
    const text = "It is signed.\n";
    expect(openNote(signNote(text, signer), [readVerifierKey(goKey)])).to.equal(text);
  });

  it("no part of a verifier key is a verifier key, nor is one with another character", () => {
    for (let cut = 1; cut < goKey.length; cut += 1) {
      expect(() => readVerifierKey(goKey.slice(cut)), `without the first ${cut}`).to.throw();
      expect(() => readVerifierKey(goKey.slice(0, -cut)), `without the last ${cut}`).to.throw();
      const other = String.fromCharCode(goKey.charCodeAt(cut) + 1);
      expect(() => readVerifierKey(goKey.slice(0, cut) + other + goKey.slice(cut + 1)), `${cut} changed`).to.throw();
    }
  });

  it("the example of signed-note has one signature, after the last empty line", () => {
    const { text: read, signatures } = splitNote(`${text}\n— quasimodo.example/salvatore ${signatureLine}\n`)!;
    expect(read).to.equal(text);
    expect(signatures).to.have.length(1);
    const [{ name, id, signature } = { name: "", id: Buffer.of(), signature: Buffer.of() }] = signatures;
    expect([name, id.toString("hex"), signature.length]).to.deep.equal(["quasimodo.example/salvatore", "367ba04b", 64]);
  });

  it("the example of tlog-checkpoint is read, and written the same", () => {
    const { text, signatures } = splitNote(sofaNote)!;
    const head = readCheckpoint(text)!;
    expect([head.origin, head.size, head.root.toString("hex")]).to.deep.equal([
      sofa,
      20_852_163,
      "0ac5186a91863e8e1d90c808014aa89bf5da8e3ee1d9f07630f0378f68f1ab62",
    ]);
    expect(writeCheckpoint(head)).to.equal(sofaText);
    expect(signatures.map(({ name }) => name)).to.deep.equal([sofa]);
  });

  it("the example of tlog-proof is read: its number, its five hashes, and the head that follows", () => {
    const lines = ["c2sp.org/tlog-proof@v1", "index 73894", ...fancyHashes, "", fancyHead];
    const proof = readProof(lines.join("\n"))!;
    expect(proof.entry).to.equal(73_894);
    expect(proof.hashes.map((hash) => hash.toString("base64"))).to.deep.equal(fancyHashes);
    expect(readCheckpoint(proof.checkpoint)?.size).to.equal(109_482);
  });
});
