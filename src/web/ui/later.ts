import { type ComponentType, lazy, type LazyExoticComponent } from "react";
import { patiently } from "../data/patiently.ts";

/** A component whose code is loaded when it is first shown. */
export const later = <P>(load: () => Promise<ComponentType<P>>): LazyExoticComponent<ComponentType<P>> =>
  lazy(async () => ({ default: await patiently(load) }));
