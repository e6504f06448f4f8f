import { expect } from "chai";
import { Unavailable } from "#src/eventStore/eventStore.ts";
import type { MayStillSend } from "#src/mail/mailProvider.ts";
import {
  CredentialsRefused,
  type Envelope,
  type HandOverOutcome,
  type MailProvider,
  NoRoom,
  type OutgoingMail,
} from "#src/mail/mailProvider.ts";
import { createSmtpProvider, type SmtpTimeouts } from "#src/mail/out/smtpProvider.ts";
import { emptyLetter } from "#test/support/letter.ts";
import {
  type RelayFault,
  type RelayOptions,
  type RelayStage,
  type SmtpRelay,
  startSmtpRelay,
} from "#test/support/smtpRelay.ts";

const patient: SmtpTimeouts = { readyMs: 60_000, envelopeMs: 60_000, contentMs: 60_000, answerMs: 60_000 };

/** Short time limits only for the stage at which the relay hangs, so that a busy machine passes the stages before. */
function hurriedAt(stage: RelayStage): SmtpTimeouts {
  const answerMs = 150;
  if (stage === "dot") return { ...patient, answerMs };
  // The kernel may have buffered all of the content.
  if (stage === "content") return { ...patient, contentMs: 150, answerMs };
  return { ...patient, [stage === "MAIL" || stage === "RCPT" || stage === "DATA" ? "envelopeMs" : "readyMs"]: 150 };
}

const envelope: Envelope = { from: "agent@ours.example", to: ["ann@theirs.example", "bob@theirs.example"] };
const smallMime = Buffer.from("Subject: hello\r\n\r\n.a line that begins with a dot\r\n..two\r\nend\r\n");
const mimeOfLines = (lines: number) => Buffer.from(`Subject: large\r\n\r\n${`${"x".repeat(70)}\r\n`.repeat(lines)}`);
const largeMime = mimeOfLines(40_000);
// More than the buffers of both ends can hold.
const hugeMime = mimeOfLines(250_000);

const mailOf = (mime: Buffer, to = envelope): OutgoingMail => ({
  attemptId: "attempt",
  envelope: to,
  messageId: "<id@ours.example>",
  mime,
  letter: emptyLetter,
});

describe("the SMTP provider", () => {
  let relay: SmtpRelay;
  afterEach(() => relay.close());

  async function handOver(
    faults: RelayFault[],
    {
      mime = smallMime,
      mayWrite = (() => true) as MayStillSend,
      to = envelope,
      timeouts = patient,
      ...options
    }: HandOver = {},
  ): Promise<HandOverOutcome> {
    relay = await startSmtpRelay(faults, options);
    const connection = await createSmtpProvider(relay.url, timeouts).connect();
    const outcome = await connection.handOver(mailOf(mime, to), mayWrite);
    // A relay that stopped reading within the content does not notice the close.
    if (!faults.some(({ at }) => at === "content")) await relay.idle();
    return outcome;
  }

  for (const [how, extensions] of Object.entries({
    "with pipelining": ["PIPELINING", "SIZE 36700160"],
    "without any extension": [],
  })) {
    describe(how, () => {
      it(`the SMTP provider ${how} hands the exact bytes over to all recipients once`, async () => {
        const outcome = await handOver([], { extensions });
        expect(outcome).to.deep.equal({ kind: "accepted", response: "250 2.0.0 queued as 1" });
        expect(relay.mails).to.deep.equal([{ from: envelope.from, to: [...envelope.to], content: smallMime }]);
      });

      it(`the SMTP provider ${how} hands over a large mail byte for byte`, async () => {
        expect(await handOver([], { extensions, mime: largeMime })).to.include({ kind: "accepted" });
        expect(relay.mails[0]?.content.equals(largeMime)).to.equal(true);
      });

      for (const at of ["MAIL", "RCPT", "DATA"] as const) {
        for (const failure of ["drop", "reset", "stall", "garbage"] as const) {
          it(`the SMTP provider ${how} hands nothing over after ${failure} at ${at}`, async () => {
            const timeouts = failure === "stall" ? hurriedAt(at) : patient;
            expect(await handOver([{ at, how: failure }], { extensions, timeouts })).to.include({
              kind: "not_handed_over",
            });
            expect([relay.contentBytes, relay.mails.length]).to.deep.equal([0, 0]);
          });
        }
        it(`the SMTP provider ${how} reports 4xx at ${at} as refused for now`, async () => {
          expect(await handOver([{ at, how: "451 4.3.0 later" }], { extensions })).to.include({
            kind: "refused",
            retryable: true,
            code: "451",
          });
          expect(relay.mails).to.have.length(0);
        });
        it(`the SMTP provider ${how} reports 5xx at ${at} as refused for good`, async () => {
          expect(await handOver([{ at, how: "550 5.7.1 no" }], { extensions })).to.include({
            kind: "refused",
            retryable: false,
            code: "550",
          });
          expect(relay.mails).to.have.length(0);
        });
        it(`the SMTP provider ${how} reports 421 at ${at} and a close as refused for now`, async () => {
          expect(await handOver([{ at, how: "421 4.3.2 closing" }], { extensions })).to.include({
            kind: "refused",
            retryable: true,
            code: "421",
          });
        });
      }

      for (const failure of ["drop", "reset", "stall", "garbage"] as const) {
        it(`the SMTP provider ${how} reports unknown after ${failure} within the content`, async () => {
          const timeouts = failure === "stall" ? hurriedAt("content") : patient;
          expect(
            await handOver([{ at: "content", how: failure }], { extensions, timeouts, mime: largeMime }),
          ).to.include({ kind: "unknown" });
        });
        for (const taken of [true, false]) {
          it(`the SMTP provider ${how} reports unknown after ${failure} at the final dot, mail ${taken ? "taken" : "lost"}`, async () => {
            const timeouts = failure === "stall" ? hurriedAt("dot") : patient;
            expect(await handOver([{ at: "dot", how: failure, taken }], { extensions, timeouts })).to.include({
              kind: "unknown",
            });
            expect(relay.mails).to.have.length(taken ? 1 : 0);
          });
        }
      }
      it(`the SMTP provider ${how} reports 4xx after the final dot as refused for now`, async () => {
        expect(await handOver([{ at: "dot", how: "452 4.3.1 full" }], { extensions })).to.include({
          kind: "refused",
          retryable: true,
          code: "452",
        });
      });
      it(`the SMTP provider ${how} reports 5xx after the final dot as refused for good`, async () => {
        expect(await handOver([{ at: "dot", how: "554 5.6.0 spam" }], { extensions })).to.include({
          kind: "refused",
          retryable: false,
          code: "554",
        });
      });
      it(`the SMTP provider ${how} reports a malformed answer after the final dot as unknown`, async () => {
        expect(await handOver([{ at: "dot", how: "2 fine" }], { extensions })).to.include({ kind: "unknown" });
      });
      it(`the SMTP provider ${how} sends to nobody if one of two recipients is refused`, async () => {
        const outcome = await handOver([{ at: "RCPT", how: "550 5.1.1 nobody", recipient: "bob@theirs.example" }], {
          extensions,
        });
        expect(outcome).to.include({ kind: "refused", retryable: false, code: "550" });
        expect([relay.contentBytes, relay.mails.length]).to.deep.equal([0, 0]);
      });
      it(`the SMTP provider ${how} reports refused for good if one recipient is deferred and one refused`, async () => {
        const faults = [
          { at: "RCPT", how: "451 4.7.1 greylisted", recipient: "ann@theirs.example" },
          { at: "RCPT", how: "550 5.1.1 nobody", recipient: "bob@theirs.example" },
        ] as const;
        expect(await handOver([...faults], { extensions })).to.include({
          kind: "refused",
          retryable: false,
          code: "550",
        });
      });
      it(`the SMTP provider ${how} hands nothing over if the answer for one recipient is malformed`, async () => {
        const outcome = await handOver([{ at: "RCPT", how: "garbage", recipient: "bob@theirs.example" }], {
          extensions,
        });
        expect(outcome).to.include({ kind: "not_handed_over" });
        expect(relay.contentBytes).to.equal(0);
      });

      it(`the SMTP provider ${how} asks for permission after the go-ahead and writes nothing after a no`, async () => {
        let asked = 0;
        let wentAheadBefore = false;
        const outcome = await handOver([], {
          extensions,
          onGoAhead: () => {
            wentAheadBefore = asked === 0;
          },
          mayWrite: () => {
            asked += 1;
            return false;
          },
        });
        expect(outcome).to.include({ kind: "not_handed_over" });
        expect({ asked, wentAheadBefore }).to.deep.equal({ asked: 1, wentAheadBefore: true });
        expect([relay.contentBytes, relay.mails.length]).to.deep.equal([0, 0]);
      });
    });
  }

  for (const allowed of [true, false]) {
    it(`the SMTP provider waits for permission, writes nothing meanwhile, and heeds a ${allowed ? "yes" : "no"}`, async () => {
      let meanwhile: number | undefined;
      const outcome = await handOver([], {
        mayWrite: async () => {
          await new Promise((resolve) => setTimeout(resolve, 20));
          meanwhile = relay.contentBytes;
          return allowed;
        },
      });
      expect(outcome.kind).to.equal(allowed ? "accepted" : "not_handed_over");
      expect([meanwhile, relay.contentBytes > 0]).to.deep.equal([0, allowed]);
    });
  }

  it("the SMTP provider writes nothing if the permission check rejects", async () => {
    const outcome = await handOver([], { mayWrite: () => Promise.reject(new Error("away")) });
    expect(outcome.kind).to.equal("not_handed_over");
    expect(relay.contentBytes).to.equal(0);
  });

  it("the SMTP provider writes nothing if the permission check throws", async () => {
    const outcome = await handOver([], {
      mayWrite: () => {
        throw new Error("boom");
      },
    });
    expect(outcome).to.include({ kind: "not_handed_over" });
    expect(relay.contentBytes).to.equal(0);
  });

  it("the SMTP provider hands nothing over if an answer comes together with the go-ahead", async () => {
    expect(await handOver([{ at: "DATA", how: "354 go ahead\r\n250 queued already" }])).to.include({
      kind: "not_handed_over",
    });
    expect(relay.contentBytes).to.equal(0);
  });

  it("the SMTP provider reports success within the content as unknown", async () => {
    expect(await handOver([{ at: "content", how: "250 queued already" }], { mime: hugeMime })).to.include({
      kind: "unknown",
    });
  });

  it("the SMTP provider reports a refusal within the content as refused", async () => {
    const outcome = await handOver([{ at: "content", how: "552 5.3.4 too big" }], { mime: largeMime });
    expect(outcome).to.include({ kind: "refused", retryable: false, code: "552" });
  });

  it("the SMTP provider refuses a mail above the relay's announced size without offering it", async () => {
    expect(await handOver([], { extensions: ["SIZE 20"] })).to.include({
      kind: "refused",
      retryable: false,
      code: "552",
    });
    expect(relay.commands.filter((line) => line.startsWith("MAIL"))).to.have.length(0);
  });

  it("the SMTP provider refuses a recipient that contains a second command", async () => {
    const outcome = await handOver([], {
      to: { from: envelope.from, to: ["ann@theirs.example>\r\nRCPT TO:<evil@x.example"] },
    });
    expect(outcome).to.include({ kind: "refused", retryable: false });
    expect(relay.commands.join("\n")).not.to.include("evil");
  });

  it("a connection of the SMTP provider sends one mail", async () => {
    relay = await startSmtpRelay();
    const connection = await createSmtpProvider(relay.url).connect();
    await connection.handOver(mailOf(smallMime), () => true);
    expect(await connection.handOver(mailOf(smallMime), () => true)).to.include({ kind: "not_handed_over" });
    expect(relay.mails).to.have.length(1);
  });

  it("the SMTP provider hands nothing over if the relay closed the waiting connection", async () => {
    relay = await startSmtpRelay();
    const connection = await createSmtpProvider(relay.url).connect();
    await relay.close();
    expect(await connection.handOver(mailOf(smallMime), () => true)).to.include({ kind: "not_handed_over" });
  });

  const unready = {
    connect: ["drop", "reset", "stall"],
    greeting: ["drop", "reset", "stall", "garbage", "421 busy", "554 go away"],
    // After other answers to EHLO a client tries HELO.
    EHLO: ["drop", "reset", "stall", "421 busy"],
  } as const;
  for (const [at, failures] of Object.entries(unready)) {
    for (const how of failures) {
      it(`the SMTP provider is unavailable after ${how} at ${at}`, async () => {
        relay = await startSmtpRelay([{ at: at as RelayStage, how }]);
        const error = await createSmtpProvider(relay.url, how === "stall" ? hurriedAt(at as RelayStage) : patient)
          .connect({ comesBack: true })
          .catch((reason) => reason);
        expect(error).to.be.instanceOf(Unavailable).and.not.instanceOf(CredentialsRefused);
        expect(error instanceof NoRoom).to.equal(how.startsWith("421"));
      });
    }
  }

  it("the SMTP provider is unavailable if nothing listens", async () => {
    relay = await startSmtpRelay();
    await relay.close();
    const error = await createSmtpProvider(relay.url)
      .connect()
      .catch((reason) => reason);
    expect(error).to.be.instanceOf(Unavailable);
  });

  describe("many mails by the SMTP provider", () => {
    async function sendAll(count: number, provider: MailProvider): Promise<HandOverOutcome[]> {
      const sending = Array.from({ length: count }, async () => {
        const connection = await provider.connect();
        return connection.handOver(mailOf(smallMime), () => true);
      });
      return Promise.all(sending);
    }
    it("the SMTP provider never has more connections open than its limit", async () => {
      relay = await startSmtpRelay([], { answersAfterMs: { dot: 5, greeting: 5 } });
      const outcomes = await sendAll(20, createSmtpProvider(relay.url, { room: { connections: 4 } }));
      expect(outcomes.filter(({ kind }) => kind === "accepted")).to.have.length(20);
      expect([relay.mails.length, relay.mostAtOnce]).to.deep.equal([20, 4]);
    });
    it("the SMTP provider sends all mails within the connections that the relay allows", async () => {
      relay = await startSmtpRelay([], { connections: 5, answersAfterMs: { dot: 5, greeting: 5, EHLO: 5 } });
      const outcomes = await sendAll(40, createSmtpProvider(relay.url, { room: { connections: 10 } }));
      expect(outcomes.filter(({ kind }) => kind === "accepted")).to.have.length(40);
      expect([relay.mails.length, relay.mostAtOnce]).to.deep.equal([40, 5]);
      // The provider learns the limit: not every further mail is offered to a full relay.
      expect(relay.refusedConnections).to.be.within(1, 15);
    });
    it("one connection of the SMTP provider tries a silent relay, and all mails are sent when it is back", async () => {
      relay = await startSmtpRelay([{ at: "greeting", how: "stall" }]);
      const room = { connections: 3, slowAfterMs: 30 };
      const provider = createSmtpProvider(relay.url, { ...patient, readyMs: 1_000, room });
      const connect = () => provider.connect({ comesBack: true }).catch((reason) => reason);
      const failed = await Promise.all([connect(), connect(), connect()]);
      for (const error of failed) expect(error).to.be.instanceOf(Unavailable).and.not.instanceOf(NoRoom);
      await relay.idle();
      const [probe, next, ...others] = Array.from({ length: 10 }, connect);
      for (const error of await Promise.all(others)) expect(error).to.be.instanceOf(NoRoom);
      expect(await probe)
        .to.be.instanceOf(Unavailable)
        .and.not.instanceOf(NoRoom);
      expect([relay.mostAtOnce, relay.mails.length]).to.deep.equal([3, 0]);
      relay.setFaults();
      await next;
      const back = await sendAll(10, provider);
      expect(back.filter(({ kind }) => kind === "accepted")).to.have.length(10);
    });
  });

  describe("a relay whose connections another instance uses", () => {
    const busy = { connections: 10, slowAfterMs: 10 };
    it("no mail fails while another instance uses all of a relay's connections, and all are sent later", async () => {
      relay = await startSmtpRelay([], { connections: 5 });
      const [first, second] = [createSmtpProvider(relay.url), createSmtpProvider(relay.url, { room: busy })];
      const held = await Promise.all(Array.from({ length: 5 }, () => first.connect()));
      const connect = () => second.connect({ comesBack: true }).catch((reason) => reason);
      for (const error of await Promise.all(Array.from({ length: 20 }, connect)))
        expect(error).to.be.instanceOf(NoRoom).and.include({ away: false });
      const waiting = second.connect();
      for (const connection of held) await connection.handOver(mailOf(smallMime), () => true);
      const outcome = await (await waiting).handOver(mailOf(smallMime), () => true);
      expect([outcome.kind, relay.mails.length]).to.deep.equal(["accepted", 6]);
    });
  });

  describe("closing the SMTP provider", () => {
    it("a closed SMTP provider refuses all who wait for a connection", async () => {
      relay = await startSmtpRelay();
      const provider = createSmtpProvider(relay.url, { room: { connections: 2 } });
      await Promise.all([provider.connect(), provider.connect()]);
      const waiting = [provider.connect({ comesBack: true }), provider.connect()].map((each) =>
        each.catch((reason) => reason),
      );
      await provider.close();
      for (const error of await Promise.all(waiting)) expect(error).to.be.instanceOf(NoRoom);
      await relay.idle();
      expect(relay.connections).to.equal(2);
    });
    it("an SMTP provider closed to newcomers still sends the mails that have a connection", async () => {
      relay = await startSmtpRelay();
      const provider = createSmtpProvider(relay.url, { room: { connections: 1 } });
      const connection = await provider.connect();
      const waiting = provider.connect().catch((reason) => reason);
      provider.letNobodyIn!();
      expect(await waiting).to.be.instanceOf(NoRoom);
      expect(await connection.handOver(mailOf(smallMime), () => true)).to.include({ kind: "accepted" });
    });
  });

  describe("signing in to a relay", () => {
    const signIn = async (password: string, faults: RelayFault[] = []) => {
      relay = await startSmtpRelay(faults, { password: "p@ss:w%rd" });
      const url = `smtp://agent:${encodeURIComponent(password)}@127.0.0.1:${relay.port}`;
      return createSmtpProvider(url)
        .connect()
        .catch((reason) => reason);
    };
    it("a mail is sent with the relay's right password", async () => {
      const connection = await signIn("p@ss:w%rd");
      expect(await connection.handOver(mailOf(smallMime), () => true)).to.include({ kind: "accepted" });
    });
    it("a wrong password for the relay is reported as refused credentials", async () => {
      expect(await signIn("wrong")).to.be.instanceOf(CredentialsRefused);
    });
    it("callers who wait for another's sign-in are told of refused credentials", async () => {
      relay = await startSmtpRelay([], { password: "secret", answersAfterMs: { AUTH: 60 } });
      const url = `smtp://agent:wrong@127.0.0.1:${relay.port}`;
      const provider = createSmtpProvider(url, { room: { connections: 3, slowAfterMs: 10 } });
      const connect = () => provider.connect({ comesBack: true }).catch((reason) => reason);
      await Promise.all([connect(), connect(), connect()]);
      const [probe, next, ...others] = Array.from({ length: 6 }, connect);
      for (const error of await Promise.all(others)) {
        expect(error).to.be.instanceOf(NoRoom).and.include({ away: true });
        expect(error.lastFailure).to.be.instanceOf(CredentialsRefused);
      }
      for (const error of [await probe, await next]) expect(error).to.be.instanceOf(CredentialsRefused);
    });
    it("a relay that cannot check the password now is reported as unavailable", async () => {
      const error = await signIn("p@ss:w%rd", [{ at: "AUTH", how: "454 4.7.0 later" }]);
      expect(error).to.be.instanceOf(Unavailable).and.not.instanceOf(CredentialsRefused);
    });
    it("a password that the relay repeats in its answer is masked in every form", async () => {
      const password = "p@ss:w%rd";
      const base64 = (text: string) => Buffer.from(text).toString("base64");
      const forms = [password, base64(password), base64(`\0agent\0${password}`), encodeURIComponent(password)];
      for (const at of ["MAIL", "RCPT", "DATA", "dot"] as const) {
        const connection = await signIn(password, [{ at, how: `535 5.7.8 no: ${forms.join(" ")}` }]);
        const outcome = await connection.handOver(mailOf(smallMime), () => true);
        expect(outcome.message, at).to.include("535 5.7.8 no: **** **** **** ****");
        for (const form of forms) expect(JSON.stringify(outcome), at).to.not.include(form);
        await relay.close();
      }
      const taken = await signIn(password, [{ at: "dot", how: `250 taken, ${password}` }]);
      expect(await taken.handOver(mailOf(smallMime), () => true)).to.include({ response: "250 taken, ****" });
    });
    it("an invalid SMTP_URL is reported without its password", () => {
      expect(() => createSmtpProvider("smtp://agent:secret@h:99999")).to.throw(/^SMTP_URL(?!.*secret)/);
      expect(() => createSmtpProvider("smtp://agent:secret@ho st")).to.throw(/^SMTP_URL(?!.*secret)/);
      expect(() => createSmtpProvider("http://h")).to.throw(/SMTP_URL/);
    });
  });
});

type HandOver = RelayOptions & { mime?: Buffer; mayWrite?: MayStillSend; to?: Envelope; timeouts?: SmtpTimeouts };
