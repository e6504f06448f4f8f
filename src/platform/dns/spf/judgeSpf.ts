import type { RecordFinding } from "#streams/domain/events.ts";
import { quoted } from "../quoted.ts";
import type { Resolver } from "../resolver.ts";
import type { SpfEvaluator, SpfQuestion, SpfVerdict } from "./evaluator.ts";
import { mechanismText, readSpfRecord, type SpfMechanism, spfRecordsIn } from "./record.ts";
import { isMissing, type SpfTrial, trialOf, trialsOf } from "./trials.ts";

/** Judges the SPF record at a name. `value`: the record that would be right. */
export type SpfJudge = (expected: { fqdn: string; value: string }) => Promise<RecordFinding>;

export type SpfJudgeOptions = Pick<SpfQuestion, "helo" | "turn"> & {
  resolver: Resolver;
  evaluate: SpfEvaluator;
  /** Addresses that mail is sent from; undefined: those that the mechanisms of the expected record lead to. */
  addresses: readonly string[] | undefined;
  /** Called with the reason if receivers refuse even the expected record. */
  onOwnFault?: ((reason: string) => void) | undefined;
};

/**
 * Judges SPF records by their result: receivers have to let all of our addresses pass, no matter by which mechanism. A record that they
 * refuse (permerror) is wrong; one that they cannot evaluate for the moment (temperror) is not judged. If they refuse even the expected
 * record, the reason names the included record that is faulty, and the operator: the customer cannot mend it. One that is not published yet
 * is told the operator, and not laid to the customer's record.
 */
export function spfJudge({ resolver, evaluate, addresses, helo, turn, onOwnFault }: SpfJudgeOptions): SpfJudge {
  return async ({ fqdn, value }) => {
    const lookup = await resolver.txt(fqdn);
    if (lookup.outcome === "temporary_failure") return unanswered(lookup.reason);
    if (lookup.outcome === "missing") return failed(`no TXT record at ${fqdn}`);
    const records = spfRecordsIn(lookup.records);
    if (records.length === 0) return failed(`no SPF record; found ${quoted(lookup.records)}`);
    if (records.length > 1)
      return failed(`found ${records.length} SPF records, but only one is allowed: ${quoted(records)}`);

    const mechanisms = permittingIn(value);
    const trials = addresses ? addresses.map((ip) => trialOf(resolver, ip)) : await trialsOf(resolver, mechanisms);
    if (!trials) return unanswered("DNS did not say which servers send");
    let open = false;
    for (const trial of trials) {
      const question = { domain: fqdn, ip: trial.ip, helo, turn };
      const verdict = await evaluate(question, trial.resolver);
      if (verdict.result === "temperror") open = true;
      else if (verdict.result === "permerror" || (verdict.result !== "pass" && !trial.orNoMatch)) {
        const ownFault = verdict.result === "permerror" ? await faultOfExpected(question, trial, value) : undefined;
        if (ownFault !== undefined) onOwnFault?.(ownFault);
        return failed(ownFault ?? `${inWords(verdict, trial, mechanisms)}: ${quoted(records)}`);
      }
    }
    const missing = await missingIn(mechanisms);
    if (missing !== undefined) onOwnFault?.(missing);
    return open ? unanswered("DNS did not answer all that the SPF record asks") : { status: "verified", reason: null };
  };

  /** Returns why receivers would refuse the expected record too; undefined if they would not, or if that is not known now. */
  async function faultOfExpected(question: SpfQuestion, trial: SpfTrial, value: string): Promise<string | undefined> {
    const published: Resolver = {
      ...trial.resolver,
      txt: async (name) =>
        name === question.domain ? { outcome: "found", records: [value] } : trial.resolver.txt(name),
    };
    const { result, reason } = await evaluate(question, published);
    if (result !== "permerror") return undefined;
    const mechanisms = permittingIn(value);
    const included = includedIn(mechanisms);
    if (included === undefined) return `receivers refuse the expected SPF record itself (permerror: ${reason})`;
    return (await missingIn(mechanisms)) ?? faultOf(included, `is faulty (permerror: ${reason})`);
  }

  async function missingIn(mechanisms: readonly SpfMechanism[]): Promise<string | undefined> {
    const included = includedIn(mechanisms);
    if (included === undefined || !(await isMissing(resolver, included))) return undefined;
    return faultOf(included, "is missing");
  }
}

const includedIn = (mechanisms: readonly SpfMechanism[]): string | undefined =>
  mechanisms.find(({ name }) => name === "include")?.value;

const faultOf = (included: string, what: string): string =>
  `the SPF record of ${included}, which the operator of this service answers for, ${what}: receivers refuse every record that includes it`;

const failed = (reason: string): RecordFinding => ({ status: "failed", reason });
const unanswered = (reason: string): RecordFinding => ({ status: "temporary_failure", reason });

/** Returns the mechanisms of a record that let servers send. */
function permittingIn(text: string): SpfMechanism[] {
  const record = readSpfRecord(text);
  const mechanisms = "fault" in record ? [] : record.mechanisms;
  return mechanisms.filter(({ name, qualifier }) => name !== "all" && qualifier === "+");
}

function inWords({ result, reason }: SpfVerdict, { of }: SpfTrial, mechanisms: readonly SpfMechanism[]): string {
  if (result === "permerror") return `receivers refuse the SPF record (permerror: ${reason ?? "unknown"})`;
  const whose = of === null ? "our mail" : `our mail from ${of}`;
  const needed = mechanisms.map(mechanismText).join(" ");
  return `receivers give ${whose} the SPF result ${result}; ${needed} is needed before any “all”`;
}
