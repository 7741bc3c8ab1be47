import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import { search } from "../contract/finding.ts";
import { browseFiles, createFile, searchFiles, writeFile } from "../contract/knowledge.ts";
import { createOrganization, openTestStore } from "../testing/organization.ts";
import { testStores } from "../testing/postgres.ts";

// A search finds the same files in the same order on both stores and in every locale of PostgreSQL.

const worlds = [
  ["SQLite", "sqlite", {}],
  ["PostgreSQL, locale C", "postgres", { locale: "locale_provider libc lc_collate 'C' lc_ctype 'C'" }],
  ["PostgreSQL in Turkish", "postgres", { locale: "locale_provider icu icu_locale 'tr-TR'" }],
  ["PostgreSQL in English", "postgres", { locale: "locale_provider icu icu_locale 'en-US'" }],
] as const;

/** A word as it is written, and the queries that find it. */
const finds: readonly (readonly [string, readonly string[]])[] = [
  ["ÄPFEL", ["äpfel", "Äpfel", "ÄPF", "apfel", "A\u0308PFEL"]],
  ["größe", ["GRÖßE", "größ", "grosse".slice(0, 3)]],
  ["МОСКВА", ["москва", "Москва", "МОСК"]],
  ["прибытие", ["ПРИБЫТИЕ", "Прибы"]],
  ["ΟΔΟΣ", ["οδος", "οδοσ", "Οδός".replace("ό", "ο"), "ΟΔΟ"]],
  ["Ἀθῆναι", ["ἀθῆναι", "ἈΘΗ͂ΝΑΙ".normalize("NFC"), "Ἀθῆν"]],
  ["ISPARTA", ["isparta", "Isparta", "ISP"]],
  ["İzmir", ["izmir", "İZMİR", "IZMIR"]],
  ["ılgaz", ["ılgaz", "ılg"]],
  ["東京都", ["東京都", "東京"]],
  ["ｶﾀｶﾅ", ["ｶﾀ"]],
  ["한국어", ["한국어", "한국"]],
  ["हिन्दी", ["हिन्दी", "हिन्"]],
  ["العربية", ["العربية", "العرب"]],
  ["Việt", ["việt", "VIỆT", "viet"]],
  ["Ævar", ["ævar", "ÆVA"]],
  ["ſturm", ["sturm", "STURM"]],
];
const misses = ["москвы", "大阪", "ısparta", "zmir", "αθηναι", "दी", "京都", "evar"];

for (const [name, kind, options] of worlds.filter((world) => testStores.has(world[1])))
  describe(`search on ${name}`, async () => {
    const opened = await openTestStore(kind, options);
    after(() => opened.close());
    const org = await createOrganization(opened.store);
    const { root, companyId } = org;
    const ids = (files: readonly { id: string }[]): string[] => files.map(({ id }) => id);

    for (const [written, queries] of finds)
      test(`finds ${written} in titles and contents, whatever its case`, async () => {
        const inText = await root(createFile, { description: "a text", content: `so:${written}, then` });
        const inTitle = await root(createFile, { description: `(${written})`, content: "nothing" });
        for (const query of queries) {
          // Titles come first.
          assert.deepEqual(ids((await root(searchFiles, { query })).files), [inTitle.id, inText.id], query);
          assert.deepEqual(ids((await root(browseFiles, { query })).files), [inTitle.id], query);
          const { groups } = await root(search, { companyId, q: query, kind: "file" });
          assert.deepEqual(ids(groups.flatMap(({ found }) => found)), [inTitle.id], query);
        }
        const [, excerpt] = (await root(searchFiles, { query: queries[0] ?? "" })).files;
        assert.equal(excerpt?.excerpt, `so:${written}, then`.normalize("NFC"));
      });

    test("finds nothing else", async () => {
      for (const query of misses) assert.deepEqual((await root(searchFiles, { query })).files, [], query);
    });

    test("finds a new version by its words alone", async () => {
      const file = await root(createFile, { description: "Ähre", content: "Øl" });
      await root(writeFile, { ...file, description: "Ёлка", content: "Жук" });
      for (const query of ["ähre", "øl"]) assert.deepEqual((await root(searchFiles, { query })).files, []);
      for (const query of ["ёЛКА", "ЖУК"])
        assert.deepEqual(ids((await root(searchFiles, { query })).files), [file.id], query);
    });

    test("takes words and texts of any length", async () => {
      const long = "ж".repeat(3000);
      const file = await root(createFile, {
        description: `Längstes ${"q".repeat(900)}`,
        content: `vor ${long}`,
      });
      for (const query of [long, long.slice(0, 700), "ж".repeat(20), "q".repeat(450)])
        assert.deepEqual(ids((await root(searchFiles, { query: query.slice(0, 500) })).files), [file.id]);
      // In their usual form, these letters take twice as many bytes. No two words are the same.
      const letters = Array.from({ length: 8 }, (_, at) => String.fromCodePoint(0x958 + at));
      const wordOf = (number: number): string =>
        [...number.toString(8)]
          .map((digit) => letters[Number(digit)])
          .join("")
          .padStart(9, letters[0]);
      const words = Array.from({ length: 10_000 }, (_, number) => wordOf(number));
      const large = await root(createFile, { description: "large", content: words.join(" ") });
      assert.deepEqual(ids((await root(searchFiles, { query: words[9876] ?? "" })).files), [large.id]);
    });

    test("finds agents by words of any case, and lists them in one order", async () => {
      for (const agent of ["Zoë Zimmer", "adam zimmer", "İbo Zimmer", "Östen Zimmer", "ZIMMER"])
        await org.agent(agent);
      const found = async (q: string) =>
        (await root(search, { companyId, q, kind: "agent" })).groups.flatMap((group) =>
          group.found.map(({ title }) => title),
        );
      assert.deepEqual(await found("zimmer"), [
        "ZIMMER",
        "Zoë Zimmer",
        "adam zimmer",
        "Östen Zimmer",
        "İbo Zimmer",
      ]);
      for (const [q, agent] of [
        ["zoe", "Zoë Zimmer"],
        ["ibo zimmer", "İbo Zimmer"],
        ["ÖSTEN", "Östen Zimmer"],
      ] as const)
        assert.deepEqual(await found(q), [agent], q);
    });
  });
