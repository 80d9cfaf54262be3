import type { Json } from "../api/client";
import { focusProblem } from "../ui/focus";
import { idAt } from "./context";
import { fromPointer, placeInWords } from "./paths";
import type { FieldProblem } from "./validate";

/** More names than these are a number. */
const MOST = 5;

interface AttentionProps {
  id: string;
  problems: FieldProblem[];
  /** What the problems are in: it tells the items of a list from fields. */
  value: Json | undefined;
}

/** Why nothing was sent, where the button is: the fields that are wrong, each of which can be gone to. */
export function Attention({ id, problems, value }: AttentionProps) {
  const pointers = [...new Set(problems.map(({ pointer }) => pointer))];
  if (pointers.length === 0) return null;
  const named = pointers.slice(0, MOST);
  const more = pointers.length - named.length;
  return (
    <p className="form-problem form-attention" role="alert">
      {pointers.length === 1 ? "1 field needs attention: " : `${pointers.length} fields need attention: `}
      {named.map((pointer, index) => (
        <span key={pointer}>
          {index > 0 && ", "}
          <button type="button" className="form-leads" onClick={() => goTo(id, pointer)}>
            {placeInWords(pointer, value)}
          </button>
        </span>
      ))}
      {more > 0 && ` and ${more} more`}
    </p>
  );
}

/** What is drawn for a place, or for the nearest place around it. */
function goTo(id: string, pointer: string): void {
  const path = fromPointer(pointer);
  for (let depth = path.length; depth >= 0; depth -= 1) {
    const at = idAt(id, path.slice(0, depth));
    for (const end of ["", "-kind", "-group"]) {
      const found = document.getElementById(at + end);
      if (found) {
        focusProblem(found);
        return;
      }
    }
  }
  document.getElementById(`${id}-raw`)?.focus();
}
