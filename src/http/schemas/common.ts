import Type, { type Static, type TObject, type TProperties, type TSchema } from "typebox";
import type { EncodedFile } from "../framework/body/encodedFile.ts";

/** Schemas that several resources share. Sizes are UTF-8 bytes. */

export const kilobyte = 1024;

/** No field but those listed. */
export const Strict = <P extends TProperties>(properties: P, options: Record<string, unknown> = {}) =>
  Type.Object(properties, { additionalProperties: false, ...options });

export const Nullable = <S extends TSchema>(schema: S) => Type.Union([schema, Type.Null()]);

/** An id. Taken in any case, kept in lower case. */
export const Uuid = Type.String({ format: "uuid", lowercase: true });
export const Timestamp = Type.String({ format: "date-time" });
/** A day or a moment. */
export const DateOrTime = Type.String({ format: "date-or-time" });

/** One plain address per string: nothing else could be meant by it in a header. */
export const EmailAddress = Type.String({ format: "email-address" });

/** Text that ends up in a header: one line. */
export const HeaderText = (maxBytes: number, options: Record<string, unknown> = {}) =>
  Type.String({ format: "single-line", maxBytes, ...options });

/** A name or a tag: something to be read, on one line. Counted in characters. */
export const VisibleLine = (maxLength: number, options: Record<string, unknown> = {}) =>
  Type.String({ format: "visible-line", minLength: 1, maxLength, ...options });

export const Text = (maxBytes: number, options: Record<string, unknown> = {}) => Type.String({ maxBytes, ...options });

/** A file in base64. A handler gets it decoded; `maxLength` counts its characters in the body. */
export const Base64File = (maxLength: number, options: Record<string, unknown> = {}) =>
  Type.Unsafe<EncodedFile>({ base64File: maxLength, ...options });

/** Free-form JSON, counted as JSON.stringify writes it. */
export const JsonObject = (maxJsonBytes: number) =>
  Type.Unsafe<Record<string, unknown>>({ type: "object", maxJsonBytes });

/** One of several objects, told apart by a field of theirs. */
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

/** The query of a list: its own filters, and which part of it. */
export const ListQuery = <P extends TProperties>(filters: P) => Strict({ ...filters, ...paging });

export const Paging = ListQuery({});

/** A list's answer. */
export const Envelope = <S extends TSchema>(item: S) =>
  Strict({
    data: Type.Array(item),
    total: Type.Integer({ minimum: 0 }),
    limit: Type.Integer({ minimum: 1 }),
    offset: Type.Integer({ minimum: 0 }),
    next_cursor: Nullable(
      Type.String({ description: "Pass it as `cursor` to get the next page; null on the last one." }),
    ),
  });

/** The answer to every DELETE. */
export const Deleted = Strict({ id: Uuid, deleted: Type.Literal(true) }, { title: "Deleted" });

/** Who did something. */
export const ActorShown = Strict(
  { kind: Type.String(), id: Type.String(), name: Nullable(Type.String()) },
  { title: "Actor" },
);
