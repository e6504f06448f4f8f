import { isDeepStrictEqual } from "node:util";
import { asSentence } from "#src/html/asSentence.ts";
import { visible } from "#src/html/visible.ts";
import {
  channelTypes,
  inputName,
  isChannelType,
  readChannel,
  type ShownChannel,
  typeInput,
  writeChannel,
} from "./channelFields.ts";
import { type FormField, fieldNamed, fieldsOf, type Part } from "./fields.ts";

/** An identity as the API answers it, by field. */
export type ShownIdentity = Record<string, unknown> & { id: string; updated_at: string };

/** What a form says, as the body of the API's request. What it says nothing about is not in it. */
export function bodyOf(form: URLSearchParams, of: Part | "new"): Record<string, unknown> {
  const read = fieldsOf(of).map((field) => [field.name, readField(form, field)] as const);
  return Object.fromEntries(read.filter(([, value]) => value !== undefined));
}

/** What a form says before anybody touches it: it goes with the form, so that later it is known what was touched. */
export const baseOf = (identity: ShownIdentity, part: Part): Record<string, unknown> =>
  bodyOf(filledIn(identity, part), part);

/** The base that came back with a form; undefined if it has none that can be read. */
export function readBase(form: URLSearchParams): Record<string, unknown> | undefined {
  try {
    const base: unknown = JSON.parse(form.get("base") ?? "");
    return typeof base === "object" && base !== null && !Array.isArray(base) ? { ...base } : undefined;
  } catch {
    return undefined;
  }
}

/** Only what was touched: the other fields are not sent, so that they stay as somebody else may have set them meanwhile. */
export function changesOf(form: URLSearchParams, base: Record<string, unknown>, part: Part): Record<string, unknown> {
  const changed = Object.entries(bodyOf(form, part)).filter(([name, value]) => !isDeepStrictEqual(value, base[name]));
  return Object.fromEntries(changed);
}

/** The fields that were touched, and that somebody else has set to something else since the form was shown. */
export function conflictsOf(
  changes: Record<string, unknown>,
  base: Record<string, unknown>,
  now: Record<string, unknown>,
): string[] {
  const isSame = (name: string, other: Record<string, unknown>) => isDeepStrictEqual(now[name], other[name]);
  return Object.keys(changes).filter((name) => !isSame(name, base) && !isSame(name, changes));
}

/** A form filled in with an identity. Characters that nobody could see are written out, as on every page, so what is left alone compares as equal. */
export function filledIn(identity: ShownIdentity, part: Part): URLSearchParams {
  const form = new URLSearchParams();
  for (const field of fieldsOf(part)) {
    const value = identity[field.name];
    if (field.kind === "channel") writeChannel(form, field.name, value as ShownChannel | null);
    else if (Array.isArray(value)) form.set(field.name, value.join("\n"));
    else form.set(field.name, value === null || value === undefined ? "" : String(value));
  }
  for (const [name, value] of [...form]) form.set(name, visible(value));
  return form;
}

/** A form for an identity that is to be made. */
export function emptyForm(): URLSearchParams {
  const form = new URLSearchParams();
  for (const { name, kind, initial } of fieldsOf("new")) {
    if (kind === "channel") writeChannel(form, name, null);
    else form.set(name, initial === undefined ? "" : String(initial));
  }
  return form;
}

/** Whether a switch of a form is on. A browser sends "false" before every box, and "true" for one that is ticked. */
export const isOn = (form: URLSearchParams, name: string): boolean => form.getAll(name).at(-1) === "true";

function readField(form: URLSearchParams, { name, kind, blank }: FormField): unknown {
  if (kind === "channel") return readChannel(form, name);
  const typed = form.get(name);
  if (typed === null) return undefined;
  if (kind === "switch") return isOn(form, name);
  const lines = typed.replace(/\r\n?/g, "\n");
  if (kind === "lines")
    return lines
      .split("\n")
      .map((line) => line.trim())
      .filter(Boolean);
  const text = kind === "text" ? lines : lines.trim();
  if (text.trim() === "" && blank !== "as typed") return blank === "left out" ? undefined : null;
  // What is no number is left as it is, for the API to refuse in its words.
  return kind === "number" && /^-?\d{1,9}$/.test(text) ? Number(text) : text;
}

/**
 * The input that a refusal of the API is about, and its sentence without the path before it; undefined if it is about none of the form's.
 * `approval_channel.config.to` is the input of that name in the type that was chosen.
 */
export function errorPlace(
  form: URLSearchParams,
  refused: { message: string; field?: string | undefined } | undefined,
): { input: string; label: string; sentence: string } | undefined {
  if (refused?.field === undefined) return undefined;
  const [name = "", ...rest] = refused.field.replace(/\[\d+\]/g, "").split(".");
  const field = fieldNamed(name);
  if (!field) return undefined;
  const prefix = `${refused.field}: `;
  const said = refused.message.startsWith(prefix) ? refused.message.slice(prefix.length) : refused.message;
  const sentence = asSentence(said);
  if (field.kind !== "channel") return { input: name, label: field.label, sentence };
  const type = form.get(typeInput(name));
  const inner = rest.at(-1);
  const config = isChannelType(type) ? channelTypes[type].fields.find((each) => each.name === inner) : undefined;
  if (!config || !isChannelType(type)) return { input: typeInput(name), label: field.label, sentence };
  return { input: inputName(name, type, config.name), label: `${field.label}: ${config.label}`, sentence };
}
