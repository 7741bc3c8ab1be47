import { type Sandbox, viewInstallation } from "../contract/installation.ts";
import { guarded, type Guarded } from "../dispatch/guarded.ts";
import { version } from "./version.ts";

export const onViewInstallation = (sandbox: () => Sandbox): Guarded =>
  guarded(viewInstallation, async () => ({ version, sandbox: sandbox() }));
