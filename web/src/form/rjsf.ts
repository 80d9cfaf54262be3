/** What is taken from RJSF: which field is drawn for a schema, and lists whose items are alike. */

import RjsfArrayField from "@rjsf/core/lib/components/fields/ArrayField.js";
import RjsfSchemaField from "@rjsf/core/lib/components/fields/SchemaField.js";
import type { FieldProps } from "@rjsf/utils";
import type { ComponentType } from "react";

// Taken one by one: the whole of RJSF would bring its own widgets and a second Markdown renderer. Their types follow the
// value's, which is JSON of any shape here.
export const SchemaField = RjsfSchemaField as unknown as ComponentType<FieldProps>;
export const ListField = RjsfArrayField as unknown as ComponentType<FieldProps>;
