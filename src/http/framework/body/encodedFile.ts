/** A file that was in a body as base64, as a handler gets it: decoded and hashed already. */
export class EncodedFile {
  /** Characters that it had in the body. */
  readonly encodedLength: number;
  /** undefined: what was there is not base64. */
  readonly decoded: DecodedFile | undefined;
  constructor(encodedLength: number, decoded: DecodedFile | undefined) {
    this.encodedLength = encodedLength;
    this.decoded = decoded;
  }
}

/** `sha256`: of the bytes, in lower-case hex. */
export type DecodedFile = { bytes: Buffer; sha256: string };

/** Where a body's schema has files: the steps from the body to them, with "*" for every element of a list. */
export type FilePath = readonly string[];

type Schema = {
  base64File?: number;
  properties?: Record<string, Schema>;
  items?: Schema;
};

/** The places of a schema's files. They are in properties and lists, never in one branch of several. */
export function filePathsOf({ base64File, properties = {}, items }: Schema): FilePath[] {
  if (base64File !== undefined) return [[]];
  const below = [...Object.entries(properties), ...(items ? [["*", items] as const] : [])];
  return below.flatMap(([step, schema]) => filePathsOf(schema).map((path) => [step, ...path]));
}
