/** Styles that a component brings along. */
declare module "*.css";
