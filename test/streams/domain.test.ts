import { expect } from "chai";
import { fold } from "#streams/decider.ts";
import { domainDecider } from "#streams/domain/decider.ts";
import type { DomainEvent, DomainRecord, RecordFinding, Registration } from "#streams/domain/events.ts";
import { nextCheckAt } from "#streams/domain/schedule.ts";
import { domainNameDecider } from "#streams/domainName/decider.ts";
import { given } from "#test/support/given.ts";

const start = Date.parse("2026-01-01T00:00:00Z");
const minute = 60_000;
const hour = 60 * minute;
const at = (ms: number) => new Date(start + ms).toISOString();

const facts = {
  workspaceId: "w",
  name: "customer.example",
  subdomain: null,
  mailDomain: "customer.example",
  token: "t",
  sendingToken: "s",
  selector: "cs1",
  publicKey: "p",
  privateKey: "sealed",
};
const added: DomainEvent = { type: "DomainAdded", data: { ...facts, at: at(0) } };
const verified: DomainEvent = { type: "DomainVerified", data: { domainName: "customer.example", at: at(minute) } };
const ok: RecordFinding = { status: "verified", reason: null };
const bad: RecordFinding = { status: "failed", reason: "x" };
const unknown: RecordFinding = { status: "temporary_failure", reason: "x" };

const check = (attempt: number, ms: number, different: Partial<Record<DomainRecord, RecordFinding>> = {}) => ({
  attempt,
  at: at(ms),
  records: { ownership: ok, spf: ok, dkim: ok, sending: ok, mx: ok, ...different },
  hasExistingMx: null,
  recommendedSubdomain: null,
  dnsProvider: null,
});
const checked = (...of: Parameters<typeof check>): DomainEvent => ({ type: "DomainChecked", data: check(...of) });
const record = (...of: Parameters<typeof check>) => ({ type: "RecordCheck", check: check(...of) }) as const;
const domain = (...events: DomainEvent[]) => given(domainDecider, ...events);

const registration: Registration = { provider: "SendGrid", providerId: "7", made: true, records: [] };
const registered: DomainEvent = { type: "DomainRegistered", data: { ...registration, at: at(0) } };

describe("a domain at a mail provider", () => {
  it("a domain is registered at its provider once, with its creation if the provider answered", () => {
    const { at: _, ...domain } = { ...facts, at: at(0) };
    given(domainDecider)
      .when({ type: "AddDomain", domain, registration, at: at(0) })
      .then(added, registered);
    given(domainDecider, added)
      .when({ type: "RegisterDomain", registration, at: at(0) })
      .then(registered);
    given(domainDecider, added, registered)
      .when({ type: "RegisterDomain", registration, at: at(minute) })
      .then();
    // At another provider, or anew at one that had lost it.
    for (const other of [
      { ...registration, provider: "Another" },
      { ...registration, providerId: "another" },
    ])
      given(domainDecider, added, registered)
        .when({ type: "RegisterDomain", registration: other, at: at(minute) })
        .then({ type: "DomainRegistered", data: { ...other, at: at(minute) } });
  });

  it("a check that the provider holds back does not verify a domain, though every record was correct before", () => {
    const held = { ...check(2, minute, { mx: unknown }), heldBack: true as const };
    const before = checked(1, 0, { ownership: bad });
    given(domainDecider, added, before)
      .when({ type: "RecordCheck", check: held })
      .then({ type: "DomainChecked", data: held });
    given(domainDecider, added, before)
      .when(record(2, minute, { mx: unknown }))
      .then(checked(2, minute, { mx: unknown }), verified);
  });
});

describe("a domain", () => {
  it("a domain is verified by all five records, also when they are found one after the other", () => {
    domain(added).when(record(1, minute)).thenTypes("DomainChecked", "DomainVerified");
    for (const missing of ["ownership", "spf", "dkim", "sending", "mx"] as const) {
      domain(added)
        .when(record(1, minute, { [missing]: bad }))
        .thenTypes("DomainChecked");
      domain(added, checked(1, 0, { [missing]: bad }))
        .when(record(2, minute))
        .thenTypes("DomainChecked", "DomainVerified");
    }
    domain(added, checked(1, 0, { mx: bad }))
      .when(record(2, minute, { spf: unknown }))
      .thenTypes("DomainChecked", "DomainVerified");
    domain(added)
      .when(record(1, minute, { spf: unknown }))
      .thenTypes("DomainChecked");
  });

  it("a domain counts each check once, and none after it was deleted", () => {
    domain(added, checked(1, 0, { mx: bad }))
      .when(record(1, minute))
      .then();
    domain(added, { type: "DomainDeleted", data: { at: at(1) } })
      .when(record(1, minute))
      .then();
    domain().when(record(1, minute)).then();
  });

  it("a domain is lost by the third failing check in a row; a check without an answer does not count", () => {
    const failing = (n: number) => checked(n, n * 24 * hour, { spf: bad });
    const whole = [added, checked(1, minute), verified];
    domain(...whole)
      .when(record(2, 48 * hour, { spf: bad, mx: bad }))
      .then(checked(2, 48 * hour, { spf: bad, mx: bad }), {
        type: "DomainFailing",
        data: { domainName: "customer.example", at: at(48 * hour), because: "spf, mx" },
      });
    domain(...whole, failing(2))
      .when(record(3, 72 * hour, { spf: bad }))
      .thenTypes("DomainChecked");
    domain(...whole, failing(2), failing(3))
      .when(record(4, 96 * hour, { mx: bad }))
      .thenTypes("DomainChecked", "DomainLost");
    domain(...whole, failing(2), failing(3))
      .when(record(4, 96 * hour, { spf: unknown }))
      .thenTypes("DomainChecked");
    domain(...whole, failing(2), checked(3, 72 * hour, { spf: unknown }), failing(4))
      .when(record(5, 120 * hour, { spf: bad }))
      .thenTypes("DomainChecked", "DomainLost");
    domain(...whole, failing(2), failing(3), checked(4, 80 * hour))
      .when(record(5, 96 * hour, { spf: bad }))
      .thenTypes("DomainChecked", "DomainFailing");
  });

  it("of a verified domain's failing checks those count that are six hours apart, however many there are", () => {
    const whole = [added, checked(1, minute), verified];
    /** Checks at these hours, all of which fail but those in `passing`; the last one decides. */
    const checksAt = (hours: readonly number[], passing: readonly number[] = []) => {
      const result = (each: number) => (passing.includes(each) ? {} : { spf: bad });
      const before = hours.slice(0, -1).map((each, n) => checked(n + 2, each * hour, result(each)));
      const last = hours.at(-1) as number;
      return domain(...whole, ...before).when(record(hours.length + 1, last * hour, result(last)));
    };
    checksAt([10, 10.001, 10.002]).thenTypes("DomainChecked");
    checksAt([10, 12, 14, 15.999]).thenTypes("DomainChecked");
    checksAt([10, 16, 21.999]).thenTypes("DomainChecked");
    checksAt([10, 16, 22]).thenTypes("DomainChecked", "DomainLost");
    checksAt([10, 13, 16, 19, 22]).thenTypes("DomainChecked", "DomainLost");
    checksAt([10, 15, 20, 25]).thenTypes("DomainChecked");
    checksAt([10, 15, 20, 25, 30]).thenTypes("DomainChecked", "DomainLost");
    // A zone that flaps is not lost, and its owners are not told more often than every six hours.
    checksAt([10, 11, 12], [11]).thenTypes("DomainChecked");
    checksAt([10, 11, 16], [11]).thenTypes("DomainChecked", "DomainFailing");
    checksAt([10, 16, 20, 22, 28], [20]).thenTypes("DomainChecked");
    checksAt([10, 16, 20, 22, 28, 34], [20]).thenTypes("DomainChecked", "DomainLost");
    // A clock that runs behind on another instance.
    checksAt([10, 4, 16, 10, 22]).thenTypes("DomainChecked", "DomainLost");
  });

  it("an advised record that fails neither keeps a domain from being verified nor loses it", () => {
    const advised = { dmarc: bad };
    const command = (attempt: number, ms: number) =>
      ({ type: "RecordCheck", check: { ...check(attempt, ms), advised } }) as const;
    domain(added).when(command(1, minute)).thenTypes("DomainChecked", "DomainVerified");
    domain(added, checked(1, minute), verified)
      .when(command(2, 24 * hour))
      .thenTypes("DomainChecked");
  });

  it("a domain has 73 hours to be verified, and then fails until a check is requested [d7 schedule]", () => {
    const ended = { at: at(73 * hour), because: "" };
    domain(added)
      .when(record(1, 73 * hour - 1, { mx: bad }))
      .thenTypes("DomainChecked");
    domain(added)
      .when(record(1, 73 * hour, { mx: bad }))
      .thenTypes("DomainChecked", "DomainFailed");
    domain(added)
      .when(record(1, 73 * hour, { mx: unknown }))
      .thenTypes("DomainChecked", "DomainFailed");
    domain(added)
      .when(record(1, 74 * hour))
      .thenTypes("DomainChecked", "DomainVerified");
    const failed = [added, checked(1, 73 * hour, { mx: bad }), { type: "DomainFailed", data: ended } as const];
    const asked: DomainEvent = { type: "DomainCheckRequested", data: { at: at(100 * hour) } };
    domain(...failed)
      .when({ type: "RequestCheck", at: at(100 * hour) })
      .then(asked);
    domain(...failed, asked)
      .when({ type: "RequestCheck", at: at(101 * hour) })
      .then();
    domain(...failed, asked)
      .when(record(2, 100 * hour, { mx: bad }))
      .thenTypes("DomainChecked");
  });

  it("a domain is checked every 30 seconds, then every 10 minutes, and daily once verified [d7 schedule]", () => {
    const next = (...events: DomainEvent[]) =>
      nextCheckAt(fold(domainDecider, events), [30, 600, 86_400])?.toISOString() ?? null;
    expect(next()).to.equal(null);
    expect(next(added, checked(1, 0, { mx: bad }))).to.equal(at(30_000));
    expect(next(added, checked(9, hour - 1, { mx: bad }))).to.equal(at(hour - 1 + 30_000));
    expect(next(added, checked(9, hour, { mx: bad }))).to.equal(at(hour + 10 * minute));
    expect(next(added, checked(9, 72 * hour, { mx: bad }))).to.equal(at(72 * hour + 10 * minute));
    expect(next(added, checked(1, minute), verified)).to.equal(at(minute + 24 * hour));
    expect(
      next(added, checked(1, minute), verified, {
        type: "DomainLost",
        data: { domainName: "customer.example", at: at(1), because: "" },
      }),
    ).to.equal(null);
    expect(next(added, { type: "DomainDeleted", data: { at: at(1) } })).to.equal(null);
    const asked: DomainEvent = { type: "DomainCheckRequested", data: { at: at(100 * hour) } };
    const failed: DomainEvent = { type: "DomainFailed", data: { at: at(73 * hour), because: "" } };
    expect(next(added, failed, asked, checked(2, 100 * hour, { mx: bad }))).to.equal(at(100 * hour + 30_000));
  });

  it("a domain takes identities while it is verified, and is deleted only without them", () => {
    const attach = { type: "AttachIdentity", identityId: "i", at: at(1) } as const;
    const attached: DomainEvent = { type: "DomainIdentityAttached", data: { identityId: "i", at: at(1) } };
    const remove = (...gone: string[]) => ({ type: "DeleteDomain", gone, at: at(2) }) as const;
    domain(added).when(attach).thenRejected("invalid_request");
    domain(added, verified).when(attach).then(attached);
    domain(added, verified, attached).when(attach).then();
    domain(added, verified, attached).when(remove()).thenRejected("invalid_request");
    domain(added, verified, attached).when(remove("i")).thenTypes("DomainDeleted");
    domain(added).when(remove()).thenTypes("DomainDeleted");
    domain(added, { type: "DomainDeleted", data: { at: at(2) } })
      .when(attach)
      .thenRejected("not_found");
  });
});

describe("a domain's name", () => {
  const register = (workspaceId: string, domainId: string, gone: string | null = null) =>
    ({ type: "RegisterName", name: "customer.example", domainId, workspaceId, gone }) as const;
  const registered = (workspaceId: string, domainId: string) =>
    ({ type: "NameRegistered", data: { name: "customer.example", domainId, workspaceId } }) as const;
  const claim = (workspaceId: string, domainId: string) =>
    ({ type: "ClaimName", domainId, workspaceId, receives: true }) as const;
  const claimed = (workspaceId: string, domainId: string) =>
    ({ type: "NameVerified", data: { domainId, workspaceId, receives: true } }) as const;

  it("any workspace may register a domain name once, and only one workspace can prove it", () => {
    const name = (...events: any[]) => given(domainNameDecider, ...events);
    const [one, two] = [registered("w1", "d1"), registered("w2", "d2")];
    name().when(register("w1", "d1")).then(one);
    name(one).when(register("w1", "d1")).then();
    name(one).when(register("w1", "d9")).thenRejected("invalid_request");
    name(one)
      .when(register("w1", "d9", "d1"))
      .then(registered("w1", "d9"));
    name(one).when(register("w2", "d2")).then(two);
    name(one, two).when(claim("w2", "d2")).then(claimed("w2", "d2"));
    name(one, two, claimed("w2", "d2")).when(claim("w1", "d1")).thenRejected("invalid_request");
    name(one, two, claimed("w2", "d2")).when(register("w3", "d3")).thenRejected("invalid_request");
    name(one).when(claim("w2", "d2")).thenRejected("invalid_request");
    const lost = { type: "NameLost", data: { domainId: "d2" } } as const;
    const released = { type: "NameReleased", data: { domainId: "d2" } } as const;
    name(one, two, claimed("w2", "d2")).when({ type: "LoseName", domainId: "d2" }).then(lost);
    name(one, two, claimed("w2", "d2"), lost).when(claim("w1", "d1")).then(claimed("w1", "d1"));
    name(one, two, claimed("w2", "d2"), released).when(claim("w1", "d1")).then(claimed("w1", "d1"));
    name(one, two, claimed("w2", "d2")).when({ type: "LoseName", domainId: "d1" }).then();
    name(one, two, released).when({ type: "ReleaseName", domainId: "d2" }).then();
  });
});
