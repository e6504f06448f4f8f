// Imported alone: the whole library takes twice the memory in each thread.
import { spf } from "mailauth/lib/spf/index.js";
import { mechanismText, readSpfRecord, type SpfRecord, spfRecordsIn } from "#src/platform/dns/spf/record.ts";
import type { DnsAnswers, Findings, ResultOrQuestions, SmtpSender, SpfResult } from "./findings.ts";
import { type DnsLookUp, replayed } from "./replayed.ts";

/** Evaluates SPF (RFC 7208) for an envelope sender and the address of the client. */
export function verifySender(
  { envelopeFrom, remote }: SmtpSender,
  answers: DnsAnswers,
): Promise<ResultOrQuestions<Findings["spf"]>> {
  return replayed(answers, async (lookUp) => {
    const helo = remote.helo || remote.ip;
    const guard = soundRecords(lookUp);
    const found = await spf({ sender: envelopeFrom, ip: remote.ip, helo, mta: "localhost", resolver: guard.lookUp });
    const domain = found.domain || "";
    const { fault } = guard;
    return fault === undefined ? { domain, ...resultOf(found.status) } : { domain, result: "permerror", reason: fault };
  });
}

/**
 * Shows the library sound SPF records only, in a form that it reads as receivers do. Left to itself it overlooks a fault behind the
 * mechanism that matches, takes IPv6 addresses in ip4 for no match, refuses the final dot of a name, capitals in `redirect` and MX records
 * that name no host, and expands %{d} in an included record to the sender's domain. `fault`: why receivers refuse a record that was looked
 * up.
 */
function soundRecords(lookUp: DnsLookUp): { lookUp: DnsLookUp; fault: string | undefined } {
  const guard = {
    fault: undefined as string | undefined,
    async lookUp(name: string, type: string) {
      const answer = await lookUp(name, type);
      if (type === "MX") return answer.filter(({ exchange }: { exchange: string }) => hostName.test(exchange));
      if (type !== "TXT") return answer;
      const records = spfRecordsIn(answer.map((strings: string[]) => strings.join(""))).map(readSpfRecord);
      for (const record of records) if ("fault" in record) guard.fault ??= record.fault;
      return records.map((record) => ["fault" in record ? "v=spf1" : recordText(record, name)]);
    },
  };
  return guard;
}

const hostName = /\.[a-z][a-z0-9-]*$/i;

function recordText({ mechanisms, redirect }: SpfRecord, name: string): string {
  const terms = [...mechanisms.map(mechanismText), ...(redirect === undefined ? [] : [`redirect=${redirect}`])];
  return ["v=spf1", ...terms.map((term) => withDomain(term, name))].join(" ");
}

/** Expands the macro of the domain whose record it is: %{d}, and parts of it such as %{d2} or %{dr-}. */
const withDomain = (term: string, name: string): string =>
  term.replace(/%\{d[^}]*\}/g, (macro) => {
    const [, digits, reversed, delimiters] = /^%\{d(\d*)(r?)(.*)\}$/.exec(macro) as unknown as string[];
    const parts = name.split(new RegExp(`[${(delimiters || ".").replaceAll("-", "\\-")}]`));
    return (reversed ? parts.reverse() : parts).slice(-Number(digits)).join(".");
  });

const results: readonly string[] = ["pass", "fail", "softfail", "neutral", "none", "temperror", "permerror"];

function resultOf({
  result,
  comment,
}: {
  result: string;
  comment?: string;
}): Pick<Findings["spf"], "result" | "reason"> {
  if (result !== "permerror") return { result: results.includes(result) ? (result as SpfResult) : "permerror" };
  // The library's comment ends in the cause.
  const reason = /during lookup of [^:]*: (.+)$/.exec(comment ?? "")?.[1];
  return { result, ...(reason !== undefined && { reason }) };
}
