// Grants the packet memory: one port begins a cell in each cycle, in turn. Grants leave from a register, so a port that was
// granted does not know it yet when it asks in the cycle behind its request, and that request counts for nothing. But
// if the cell has one beat and the port may begin the next one right behind it, it says `again` and does so before all
// others: if it had to wait for a turn, ports whose frames end in such cells would begin together and leave cycles unused.
module cell_turns #(
    parameter int N = 4
) (
    input logic clk,
    input logic rst,
    input logic [N-1:0] request,
    input logic [N-1:0] again,  // counts in the cycle of a grant
    output logic [N-1:0] grant
);
  logic [N-1:0] stays, turn;
  logic stayed;  // nobody begins three cells in a row
  assign stays = stayed ? '0 : grant & again & request;
  round_robin #(.N(N)) turns (
      .clk, .rst, .enable(stays == 0), .request(request & ~grant), .grant(turn)
  );
  always_ff @(posedge clk) begin
    grant <= rst ? '0 : stays | turn;
    stayed <= !rst && stays != 0;
  end

`ifdef FORMAL_LARGE
  `include "cell_turns_props.svh"
`endif
endmodule
