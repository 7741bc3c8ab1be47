/** The page's only Trusted Types policy. It only allows the page's own workers, whose addresses the build wrote. */
interface Policy {
  createScriptURL(url: string): string;
}

const factory: unknown = Reflect.get(globalThis, "trustedTypes");

const rules = {
  createScriptURL(url: string): string {
    const { origin, pathname } = new URL(url, location.origin);
    if (origin !== location.origin || !/^\/assets\/[\w.-]+\.js$/.test(pathname))
      throw new TypeError("This is not a script of the dashboard.");
    return url;
  },
};

const policy: Policy = canCreate(factory) ? factory.createPolicy("agency", rules) : rules;

/** The address of a worker, in the form that the browser's constructors accept. */
export function trustedScript(url: string): string {
  return policy.createScriptURL(url);
}

function canCreate(value: unknown): value is { createPolicy(name: string, rules: Policy): Policy } {
  return typeof value === "object" && value !== null && "createPolicy" in value;
}
