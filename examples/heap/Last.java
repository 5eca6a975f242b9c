/** An element of a list. */
class Cell {
    Cell next;
}

class Last {

    /** Removes the last element; the list has at least one. */
    static Cell removeLast(Cell head) {
        Cell current = head;
        while (current.next.next != null) {
            current = current.next;
        }
        current.next = null;
        return head;
    }
}
