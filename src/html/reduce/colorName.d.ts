declare module "color-name" {
  /** CSS colour names, in lower case, with their RGB values. */
  const names: Readonly<Record<string, readonly [number, number, number]>>;
  export default names;
}
