/** The items of a list, and the buttons that add, move and remove them. */

import type { ArrayFieldItemTemplateProps, ArrayFieldTemplateProps } from "@rjsf/utils";
import { useEffect, useRef } from "react";
import { CONTROLS } from "../ui/focus";
import { Icon } from "../ui/Icon";
import { nameOf } from "./context";

type ListProps = Pick<
  ArrayFieldTemplateProps,
  "items" | "canAdd" | "onAddClick" | "fieldPathId" | "disabled" | "readonly" | "schema"
>;
type ItemProps = Pick<
  ArrayFieldItemTemplateProps,
  "children" | "buttonsProps" | "index" | "disabled" | "readonly"
>;

export function ArrayFieldTemplate(props: ListProps) {
  const { items, canAdd, onAddClick, fieldPathId, disabled, readonly, schema } = props;
  const list = useRef<HTMLDivElement>(null);
  const added = useRef(false);
  useEffect(() => {
    if (!added.current) return;
    added.current = false;
    const rows = list.current?.querySelectorAll<HTMLElement>(":scope > ol > li");
    rows?.[items.length - 1]?.querySelector<HTMLElement>(CONTROLS)?.focus();
  });
  return (
    <div ref={list} className="form-list">
      {items.length > 0 && <ol>{items}</ol>}
      {canAdd && (
        <button
          type="button"
          className="button small form-add"
          data-remedy=""
          disabled={disabled || readonly}
          onClick={(event) => {
            added.current = true;
            onAddClick(event);
          }}
        >
          <Icon name="plus" />
          Add {items.length === 0 ? "an item" : "another"}
          <span className="visually-hidden"> to {nameOf(fieldPathId.path, schema)}</span>
        </button>
      )}
      {!canAdd && schema.maxItems === items.length && <p className="form-hint">The list is full.</p>}
    </div>
  );
}

export function ArrayFieldItemTemplate({ children, buttonsProps, index, disabled, readonly }: ItemProps) {
  const { hasMoveUp, hasMoveDown, hasRemove, onMoveUpItem, onMoveDownItem, onRemoveItem } = buttonsProps;
  const up = useRef<HTMLButtonElement>(null);
  const down = useRef<HTMLButtonElement>(null);
  const moved = useRef<"up" | "down" | null>(null);
  // Moving takes the focus away from the button; whoever moves by keyboard goes on with the same item.
  useEffect(() => {
    if (moved.current === null || index < 0) return;
    const order = moved.current === "up" ? [up, down] : [down, up];
    order.find((button) => button.current?.disabled === false)?.current?.focus();
    moved.current = null;
  }, [index]);
  const off = disabled || readonly;
  const button = (name: "up" | "down", can: boolean, move: typeof onMoveUpItem) => (
    <button
      type="button"
      className="button plain small"
      ref={name === "up" ? up : down}
      disabled={off || !can}
      aria-label={`Move item ${index + 1} ${name}`}
      onClick={(event) => {
        moved.current = name;
        move(event);
      }}
    >
      <Icon name={name} />
    </button>
  );
  return (
    <li>
      <div className="form-item">{children}</div>
      <div className="form-row">
        {(hasMoveUp || hasMoveDown) && button("up", hasMoveUp, onMoveUpItem)}
        {(hasMoveUp || hasMoveDown) && button("down", hasMoveDown, onMoveDownItem)}
        {hasRemove && (
          <button
            type="button"
            className="button plain small"
            disabled={off}
            aria-label={`Remove item ${index + 1}`}
            onClick={(event) => {
              event.currentTarget
                .closest(".form-list")
                ?.querySelector<HTMLElement>(":scope > .form-add")
                ?.focus();
              onRemoveItem(event);
            }}
          >
            <Icon name="cross" />
          </button>
        )}
      </div>
    </li>
  );
}
