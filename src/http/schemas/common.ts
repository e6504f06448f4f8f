import Type, { type Static, type TObject, type TProperties, type TSchema } from "typebox";
import type { EncodedFile } from "../framework/body/encodedFile.ts";

/** Schemas shared by several resources. Sizes are UTF-8 bytes. */

export const kilobyte = 1024;

/** An object without additional fields. */
export const Strict = <P extends TProperties>(properties: P, options: Record<string, unknown> = {}) =>
  Type.Object(properties, { additionalProperties: false, ...options });

export const Nullable = <S extends TSchema>(schema: S) => Type.Union([schema, Type.Null()]);

/** A UUID, accepted in any case and converted to lower case. */
export const Uuid = Type.String({ format: "uuid", lowercase: true });
export const Timestamp = Type.String({ format: "date-time" });
/** Query parameter for an earlier state. */
export const At = Type.Optional(
  Type.String({
    format: "date-time",
    description:
      "Returns the state at this time, read from the event log. Needs the scope read:audit. 404 if there was none yet, or none any more.",
  }),
);
/** A date, or a date and time. */
export const DateOrTime = Type.String({ format: "date-or-time" });

/** One plain address: no name, list or group. */
export const EmailAddress = Type.String({ format: "email-address" });

/** Text for a mail header: one line. */
export const HeaderText = (maxBytes: number, options: Record<string, unknown> = {}) =>
  Type.String({ format: "single-line", maxBytes, ...options });

/** A name or tag: one visible line; `maxLength` in characters. */
export const VisibleLine = (maxLength: number, options: Record<string, unknown> = {}) =>
  Type.String({ format: "visible-line", minLength: 1, maxLength, ...options });

export const Text = (maxBytes: number, options: Record<string, unknown> = {}) => Type.String({ maxBytes, ...options });

/** A base64 file. Handlers get it decoded; `maxLength` counts base64 characters. */
export const Base64File = (maxLength: number, options: Record<string, unknown> = {}) =>
  Type.Unsafe<EncodedFile>({ base64File: maxLength, ...options });

/** Free-form JSON; its size is measured as JSON.stringify writes it. */
export const JsonObject = (maxJsonBytes: number) =>
  Type.Unsafe<Record<string, unknown>>({ type: "object", maxJsonBytes });

/** A union of objects that differ in the value of one field. */
export const OneOfBy = <const Branches extends TObject[]>(
  propertyName: string,
  branches: Branches,
  options: Record<string, unknown> = {},
) =>
  Type.Unsafe<Static<Branches[number]>>({
    type: "object",
    discriminator: { propertyName },
    oneOf: branches,
    ...options,
  });

const paging = {
  limit: Type.Integer({ minimum: 1, maximum: 100, default: 20, description: "Maximum number of items." }),
  offset: Type.Integer({
    minimum: 0,
    maximum: 10_000,
    default: 0,
    description: "Number of items to skip. To go further, use cursor.",
    remedy: "to go further, pass the next_cursor of a page as cursor",
  }),
  cursor: Type.Optional(
    Type.String({
      maxLength: 1000,
      description: "The next_cursor of an earlier page, to get the items after it. Not together with offset.",
    }),
  ),
};

/** The query of a list: its filters and the requested window. */
export const ListQuery = <P extends TProperties>(filters: P) => Strict({ ...filters, ...paging });

export const Paging = ListQuery({});

const envelope = <S extends TSchema>(item: S) => ({
  data: Type.Array(item),
  total: Type.Integer({ minimum: 0 }),
  limit: Type.Integer({ minimum: 1 }),
  offset: Type.Integer({ minimum: 0 }),
  next_cursor: Nullable(
    Type.String({ description: "Pass it as `cursor` to get the next page; null on the last one." }),
  ),
});

/** The answer of a list. */
export const Envelope = <S extends TSchema>(item: S) => Strict(envelope(item));

/** The answer of a list whose search counts only so many items. */
export const SearchEnvelope = <S extends TSchema>(item: S) =>
  Strict({
    ...envelope(item),
    total_capped: Type.Optional(
      Type.Literal(true, {
        description: "More items are found than `total`, which ends at 1,000; pages go on beyond it.",
      }),
    ),
  });

/** The answer to every DELETE. */
export const Deleted = Strict({ id: Uuid, deleted: Type.Literal(true) }, { title: "Deleted" });

/** The actor of a change, as shown to clients. */
export const ActorShown = Strict(
  { kind: Type.String(), id: Type.String(), name: Nullable(Type.String()) },
  { title: "Actor" },
);
