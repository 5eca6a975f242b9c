/** Doubly linked lists. */
public class DLList {

    DLList next;
    DLList prev;

    DLList(DLList prev, DLList next) {
        this.prev = prev;
        this.next = next;
    }

    /** A list with at least one element. */
    static DLList build(int more) {
        DLList list = new DLList(null, null);
        for (int i = 0; i < more; i++) {
            DLList first = new DLList(null, list);
            list.prev = first;
            list = first;
        }
        return list;
    }

    static void traverse(DLList head) {
        DLList current = head;
        while (current.next != null) {
            current = current.next;
        }
    }

    static DLList findLast(DLList head) {
        DLList current = head;
        while (current.next != null) {
            current = current.next;
        }
        return current;
    }

    /** The search is made by a procedure. */
    static DLList findLastCall(DLList head) {
        return findLast(head);
    }

    static void reverse(DLList head) {
        DLList reversed = null;
        DLList current = head;
        while (current != null) {
            DLList next = current.next;
            current.next = reversed;
            current.prev = next;
            reversed = current;
            current = next;
        }
    }
}
