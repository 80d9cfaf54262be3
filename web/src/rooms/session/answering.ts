import { useMutation } from "@tanstack/react-query";
import { type Answered, type Cue, type Json, type JsonObject, post, Unreachable } from "../../api/client";
import { queries } from "../../api/queries";
import { writeJson } from "../../json/exact";

const LONGEST_PAUSE_MS = 3000;

/**
 * Sends an answer until the server has it. A server that is away gets it when it is back: the answer has a key, so it
 * is taken once however often it is sent. Whoever sees that the agent's program is gone and answers all the same means it
 * for when the program is back.
 */
export function useAnswer({ session, id, status }: Cue, onTaken: () => void) {
  const anyway = status === "abandoned" ? "?anyway=true" : "";
  return useMutation<Answered, Error, JsonObject>({
    mutationFn: (answer) =>
      post(`/v1/cues/${encodeURIComponent(id)}/answer${anyway}`, answer, answerKey(id, answer)),
    retry: (_, error) => error instanceof Unreachable,
    retryDelay: (count) => Math.min(300 * 2 ** count, LONGEST_PAUSE_MS),
    onSuccess: onTaken,
    onSettled: () => void queries.invalidateQueries({ queryKey: ["session", session] }),
  });
}

/** The key of an answer: the same answer to the same cue is the same wherever it is sent from. */
export function answerKey(cue: string, answer: Json): string {
  const text = writeJson(answer);
  // FNV-1a, twice with other beginnings: only answers to one cue are told apart by it.
  const hash = (seed: number) => {
    let value = seed;
    for (let index = 0; index < text.length; index += 1) {
      value = Math.imul(value ^ text.charCodeAt(index), 0x01000193);
    }
    return (value >>> 0).toString(16).padStart(8, "0");
  };
  return `page-${cue.slice(0, 80)}-${hash(0x811c9dc5)}${hash(0x1234567)}-${text.length}`;
}
