        SwitchConfig::StencilName(stencil_name) => {
            one_queue_holds(row, room(stencil_name.queue, header))?;
            ensure!(row.marked == 0, "marks");
        }
