declare module "color-name" {
  /** The colour names of CSS, in lower case. */
  const names: Readonly<Record<string, readonly [number, number, number]>>;
  export default names;
}
