/** A base64 file of a body as handlers get it: decoded and hashed. */
export class EncodedFile {
  /** Length of the base64 text, in characters. */
  readonly encodedLength: number;
  /** undefined if the text is not base64. */
  readonly decoded: DecodedFile | undefined;
  constructor(encodedLength: number, decoded: DecodedFile | undefined) {
    this.encodedLength = encodedLength;
    this.decoded = decoded;
  }
}

/** `sha256`: of the bytes, in lower-case hex. */
export type DecodedFile = { bytes: Buffer; sha256: string };

/** Path from the body to a file of its schema; "*" stands for every element of a list. */
export type FilePath = readonly string[];

type Schema = {
  base64File?: number;
  properties?: Record<string, Schema>;
  items?: Schema;
};

/** The paths of all files in a schema. Files may be in properties and lists, but not in one branch of a union. */
export function filePathsOf({ base64File, properties = {}, items }: Schema): FilePath[] {
  if (base64File !== undefined) return [[]];
  const below = [...Object.entries(properties), ...(items ? [["*", items] as const] : [])];
  return below.flatMap(([step, schema]) => filePathsOf(schema).map((path) => [step, ...path]));
}
