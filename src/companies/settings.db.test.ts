import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { createCompany, describeSettings, updateCompany } from "../contract/companies.ts";
import { refusal, sharedOrganization, storeKinds } from "../testing/organization.ts";

for (const kind of storeKinds)
  describe(`the description of a company's settings (${kind})`, async () => {
    const { org } = await sharedOrganization(kind);

    test("names every setting with its effect, its limits and its default", async () => {
      const { board } = org;
      const { schema } = await board(describeSettings, {});
      const properties = new Map<string, unknown>(Object.entries(Object(schema["properties"])));
      const made = await board(createCompany, { name: "Described" });
      assert.deepEqual([...properties.keys()].toSorted(), Object.keys(made.settings).toSorted());
      const { minimum, maximum, type, default: initially } = Object(properties.get("maxSessions"));
      assert.deepEqual([type, minimum, maximum, initially], ["integer", 0, 1000, 4]);
      for (const [name, part] of properties) {
        const { description, default: first } = Object(part);
        assert.equal(typeof description, "string", name);
        // A new company gets the brain that was found on this machine, so these settings differ.
        if (!/Adapter/.test(name))
          assert.deepEqual(first, made.settings[name as keyof typeof made.settings], name);
      }
      // An update accepts exactly the described values.
      await refusal(board(updateCompany, { companyId: made.id, maxSessions: maximum + 1 }), "invalid");
      const changed = await board(updateCompany, { companyId: made.id, maxSessions: maximum });
      assert.equal(changed.settings.maxSessions, maximum);
    });

    test("is shown only to people", async () => {
      const ann = await org.agent("Ann");
      await refusal(ann.call(describeSettings, {}), "forbidden");
    });
  });
