/** The forms in which a request allows its answer. */
export type AnswerForms = { json: boolean; stream: boolean };

const json = "application/json";
const stream = "text/event-stream";

/** Reads the header Accept; without one, or with a blank one, every form is allowed. */
export function allowedForms(accept: string | null): AnswerForms {
  const ranges = new Map(accept?.toLowerCase().split(",").map(rangeOf));
  ranges.delete("");
  if (ranges.size === 0) return { json: true, stream: true };
  // The most specific range decides, as in RFC 9110. Java's usual header has `*` instead of `*/*`.
  const allows = (type: string): boolean =>
    [type, type.replace(/[^/]*$/, "*"), "*/*", "*"].map((range) => ranges.get(range)).find(isGiven) ?? false;
  return { json: allows(json), stream: allows(stream) };
}

/** A media range, and true unless its weight is 0. Other parameters change nothing: both forms are UTF-8. */
function rangeOf(text: string): [range: string, isAllowed: boolean] {
  const [range = "", ...parameters] = text.split(";").map((part) => part.trim());
  return [range, !parameters.some((parameter) => /^q\s*=\s*0(\.0*)?$/.test(parameter))];
}

const isGiven = (value: boolean | undefined): boolean => value !== undefined;

/**
 * Converts the library's answer if the request does not allow its form. JSON has no place for progress, which is then dropped. A refusal
 * (HTTP status of 400 and above) stays JSON.
 */
export async function inAllowedForm(response: Response, forms: AnswerForms): Promise<Response> {
  const type = response.headers.get("content-type") ?? "";
  if (type.startsWith(stream) && !forms.stream) return jsonOf(await response.text());
  if (type.startsWith(json) && !forms.json && response.ok) return streamOf(await response.text());
  return response;
}

/** The answer in a stream as JSON; 202 if the stream ended without one, because the client cancelled the call. */
function jsonOf(events: string): Response {
  const messages = events.split("\n").filter((line) => line.startsWith(data));
  const answer = messages.map((line) => line.slice(data.length)).find((text) => !("method" in JSON.parse(text)));
  return answer === undefined
    ? new Response(null, { status: 202 })
    : new Response(answer, { headers: { "Content-Type": json } });
}

const streamOf = (answer: string): Response =>
  new Response(`event: message\n${data}${answer}\n\n`, {
    headers: { "Content-Type": stream, "Cache-Control": "no-cache, no-transform" },
  });

const data = "data: ";
