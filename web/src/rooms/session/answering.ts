import { useMutation } from "@tanstack/react-query";
import { type Answered, type JsonObject, post, Unreachable } from "../../api/client";
import { queries } from "../../api/queries";
import { answerKey } from "./draft";

const LONGEST_PAUSE_MS = 3000;

/**
 * Sends an answer until the server has it. A server that is away gets it when it is back: the answer has a key, so it
 * is taken once however often it is sent.
 */
export function useAnswer(session: string, cue: string, onTaken: () => void) {
  return useMutation<Answered, Error, JsonObject>({
    mutationFn: (answer) =>
      post(`/v1/cues/${encodeURIComponent(cue)}/answer`, answer, answerKey(cue, answer)),
    retry: (_, error) => error instanceof Unreachable,
    retryDelay: (count) => Math.min(300 * 2 ** count, LONGEST_PAUSE_MS),
    onSuccess: onTaken,
    onSettled: () => void queries.invalidateQueries({ queryKey: ["session", session] }),
  });
}
