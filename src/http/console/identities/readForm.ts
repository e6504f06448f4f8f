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
import { type FormField, type FormPart, fieldNamed, fieldsOf } from "./fields.ts";

/** An identity as the API answers it, by field. */
export type ShownIdentity = Record<string, unknown> & { id: string; updated_at: string };

/** Converts a form to the body of the API request. Fields that the form does not have are omitted. */
export function bodyOf(form: URLSearchParams, of: FormPart | "new"): Record<string, unknown> {
  const read = fieldsOf(of).map((field) => [field.name, readField(form, field)] as const);
  return Object.fromEntries(read.filter(([, value]) => value !== undefined));
}

/** The original values of a form. They are sent with it, so that changed fields can be detected. */
export const baseOf = (identity: ShownIdentity, part: FormPart): Record<string, unknown> =>
  bodyOf(filledIn(identity, part), part);

/** The original values in a submitted form; undefined if it has none or they cannot be read. */
export function readBase(form: URLSearchParams): Record<string, unknown> | undefined {
  try {
    const base: unknown = JSON.parse(form.get("base") ?? "");
    return typeof base === "object" && base !== null && !Array.isArray(base) ? { ...base } : undefined;
  } catch {
    return undefined;
  }
}

/** The changed fields only: others are not sent, so that another person's change to them stays. */
export function changesOf(
  form: URLSearchParams,
  base: Record<string, unknown>,
  part: FormPart,
): Record<string, unknown> {
  const changed = Object.entries(bodyOf(form, part)).filter(([name, value]) => !isDeepStrictEqual(value, base[name]));
  return Object.fromEntries(changed);
}

/** Fields that this person changed and that another person has set to a different value since the form was shown. */
export function conflictsOf(
  changes: Record<string, unknown>,
  base: Record<string, unknown>,
  now: Record<string, unknown>,
): string[] {
  const isSame = (name: string, other: Record<string, unknown>) => isDeepStrictEqual(now[name], other[name]);
  return Object.keys(changes).filter((name) => !isSame(name, base) && !isSame(name, changes));
}

/**
 * Fills a form with an identity's values. Invisible characters are written out, as on every page, so that untouched values compare as
 * equal.
 */
export function filledIn(identity: ShownIdentity, part: FormPart): URLSearchParams {
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

/** The form for a new identity. */
export function emptyForm(): URLSearchParams {
  const form = new URLSearchParams();
  for (const { name, kind, initial } of fieldsOf("new")) {
    if (kind === "channel") writeChannel(form, name, null);
    else form.set(name, initial === undefined ? "" : String(initial));
  }
  return form;
}

/** True if a switch of the form is on. A browser sends "false" for every box, followed by "true" for a ticked one. */
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
  // Text that is not a number is sent as typed, so that the API refuses it.
  return kind === "number" && /^-?\d{1,9}$/.test(text) ? Number(text) : text;
}

/**
 * Returns the input that a refusal is about, and the refusal's sentence without the field's path; undefined if the form has no such input.
 * `approval_channel.config.to` matches the input of that name in the chosen type.
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
