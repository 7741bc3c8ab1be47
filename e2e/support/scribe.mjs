// The program of an agent that writes without end and never makes progress on its outcome. It first prints its token. It writes
// its next file only after the last one was acknowledged. If it does not know whether a write took effect, it repeats the write
// with the same key.
import { readFileSync } from "node:fs";
import { basename } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

const { AGENCY_URL: url, AGENCY_TOKEN: token, AGENCY_WORKSPACE: workspace } = process.env;
const [companyId] = process.argv.slice(2);
const session = basename(workspace);

readFileSync(0, "utf8");
console.log(`said ${token.replaceAll(/./g, "$& ")}`);
for (let number = 0; ; number++) {
  while (!(await write(`scribe ${session} ${number}`))) await sleep(200);
  await sleep(250);
}

function write(description) {
  return fetch(`${url}/api/companies/${companyId}/kb`, {
    method: "POST",
    headers: {
      authorization: `Bearer ${token}`,
      "content-type": "application/json",
      "idempotency-key": description.replaceAll(" ", "-"),
    },
    body: JSON.stringify({ description, content: "x" }),
  }).then(
    ({ ok }) => ok,
    () => false,
  );
}
