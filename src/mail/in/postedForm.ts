import { MIMEType } from "node:util";
import busboy from "busboy";

/** The fields of a form by name, each with its values in order, byte for byte. */
export type PostedForm = ReadonlyMap<string, readonly Buffer[]>;

/** Thrown for a post that is not a complete form. `message` gives the reason for an operator. */
export class UnreadableForm extends Error {
  override readonly name = "UnreadableForm";
}

/** Maximum number of parts; a provider's post has about twenty. */
const maxParts = 200;
const maxNameBytes = 200;

/**
 * Reads a complete body of multipart/form-data. Field values are not decoded, because mail is bytes: each is a slice of `post`. Throws
 * UnreadableForm.
 */
export function readForm(post: Buffer, contentType: string | undefined): Promise<PostedForm> {
  if (!/^multipart\/form-data\s*(;|$)/i.test(contentType ?? ""))
    return Promise.reject(new UnreadableForm("its Content-Type is not multipart/form-data"));
  return new Promise((resolve, reject) => {
    const refuse = (why: string) => () => reject(new UnreadableForm(why));
    const form = new Map<string, Buffer[]>();
    let parts = 0;
    const add = (name: string | undefined, value: Buffer | undefined): void => {
      parts++;
      if (name === undefined) return;
      if (!value) refuse("a part declares a character set and cannot be read byte for byte")();
      else form.set(name, [...(form.get(name) ?? []), value]);
    };
    try {
      const limits = { fieldNameSize: maxNameBytes, fieldSize: post.length + 1, parts: maxParts, fields: maxParts };
      const parser = busboy({ headers: { "content-type": contentType }, defCharset: "latin1", limits });
      parser.on("field", (name, value) => add(name, bytesOf(value, post)));
      parser.on("file", (name, stream) => {
        const chunks: Buffer[] = [];
        stream.on("data", (chunk: Buffer) => chunks.push(chunk));
        // A part that breaks off also makes the form emit an error.
        stream.on("error", () => {});
        stream.on("end", () => add(name, Buffer.concat(chunks)));
      });
      parser.on("partsLimit", refuse(`it has more than ${maxParts} parts`));
      parser.on("fieldsLimit", refuse(`it has more than ${maxParts} parts`));
      parser.on("error", refuse("it is not a whole form: it breaks off, or a part's header is malformed"));
      parser.on("close", () => {
        const fault = faultOfBoundary(post, { contentType: contentType as string, parts });
        if (fault) refuse(fault)();
        else resolve(form);
      });
      parser.end(post);
    } catch {
      reject(new UnreadableForm("its Content-Type does not say what its parts are divided by"));
    }
  });
}

/**
 * The provider's boundary may always be the same. A sender could put it into a mail, followed by forged fields (such as an envelope) and
 * the form's end, so that the provider's later fields were ignored. So each occurrence of the boundary must begin a part that was read,
 * except the last, which must end the form with nothing after it.
 */
function faultOfBoundary(
  post: Buffer,
  { contentType, parts }: { contentType: string; parts: number },
): string | undefined {
  const boundary = Buffer.from(`--${new MIMEType(contentType).params.get("boundary")}`, "latin1");
  const places: number[] = [];
  for (let at = post.indexOf(boundary); at >= 0; at = post.indexOf(boundary, at + 1))
    if (at === 0 || (post[at - 1] === 0x0a && post[at - 2] === 0x0d)) places.push(at);
  if (places.length !== parts + 1) return "its boundary occurs inside a part";
  const rest = post.subarray(places.at(-1)! + boundary.length).toString("latin1");
  return /^--\s*$/.test(rest) ? undefined : "something follows its end";
}

const headEnd = Buffer.from("\r\n\r\n");
const firstBytes = 64;
/** The first candidate is nearly always right. */
const maxPlaces = 100;

/**
 * Finds the bytes that a value was decoded from: Latin-1 unless its part declares another charset, which the library follows. They are
 * located in the post, so nothing that was not posted counts as mail; undefined if they cannot be found.
 */
function bytesOf(value: string, post: Buffer): Buffer | undefined {
  for (const encoding of ["latin1", "utf8"] as const) {
    const bytes = Buffer.from(value, encoding);
    const start = Buffer.concat([headEnd, bytes.subarray(0, firstBytes)]);
    let at = post.indexOf(start);
    for (let place = 0; at >= 0 && place < maxPlaces; place++, at = post.indexOf(start, at + 1)) {
      const found = post.subarray(at + headEnd.length, at + headEnd.length + bytes.length);
      if (found.equals(bytes)) return found;
    }
  }
  return undefined;
}
