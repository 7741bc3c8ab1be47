// The rows of the attack suite that put hostile text into every text field. attacks.db.test.ts counts them.
import { testAttacks } from "./attacks/daemon.ts";
import { textFieldAttacks } from "./attacks/text-fields.ts";

testAttacks(textFieldAttacks);
