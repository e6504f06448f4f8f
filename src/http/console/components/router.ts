import { type ConsoleRoute, consolePage, shown } from "../framework/page.ts";
import { componentsPage } from "./page.ts";

/** `/console/components`: what pages are made of. Served in development only: in production no page leads there. */
export const componentPages = (): ConsoleRoute[] => [
  consolePage("GET /console/components", async () =>
    shown({ title: "Components", main: componentsPage(), current: "/settings" }),
  ),
];
